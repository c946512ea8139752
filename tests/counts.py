"""How many random cases a test draws."""

import os


def rows(count: int) -> int:
    """So many rows; a tenth where indices are checked or nothing is compiled: there every line counts, not every case.

    As for Hypothesis, the profile says so (`tests/conftest.py`).
    """
    return count // 10 if os.environ.get("HYPOTHESIS_PROFILE") == "few" else count
