"""The command line as a process of its own, for tests that kill it."""

from posable.cli import main

if __name__ == "__main__":
    main()
