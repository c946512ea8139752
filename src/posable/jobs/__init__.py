"""One function over many files or blocks: all cores or many machines, restartable, the same results whoever works."""

from .run import Failure, Progress, Report, blocks, run

__all__ = ["Failure", "Progress", "Report", "blocks", "run"]
