"""Express: the tab (`tab`) and its parts."""
