"""Motion: the tab (`tab`) and its parts."""
