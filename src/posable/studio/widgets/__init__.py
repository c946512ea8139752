"""Controls of the panel and the timeline that several tabs use."""
