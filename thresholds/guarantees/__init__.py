"""What is promised on new rows, with which probability?"""
