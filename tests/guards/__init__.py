"""Will they hold on new data?"""
