"""Where does the best cut lie, exactly, and how is it found so fast?"""
