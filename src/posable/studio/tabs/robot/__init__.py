"""Robot: the tab (`tab`) and its parts."""
