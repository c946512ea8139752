"""The shell that every tab shares: session, events, history, clock, worker, actors and files."""
