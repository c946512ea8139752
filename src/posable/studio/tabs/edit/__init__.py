"""Edit: the tab (`tab`) and its parts."""
