"""The command line, called in this process."""

import pytest

from posable.cli.app import run


@pytest.fixture(autouse=True)
def no_colours_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a machine sets for its logs (`FORCE_COLOR` and the like) would put escape codes between words."""
    for name in ("FORCE_COLOR", "PY_COLORS", "CLICOLOR_FORCE", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def posable(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Call `posable ARGS` in this process, as for a pipe or for a terminal of so many columns.

    Gives (exit code, stdout, stderr). For a pipe a row is one line, so that a test finds a path whole however long the
    temporary folder's is.
    """

    def call(*args: object, columns: int | None = None) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["posable", *map(str, args)])
        if columns is None:
            monkeypatch.delenv("COLUMNS", raising=False)
        else:
            monkeypatch.setenv("COLUMNS", str(columns))
        with pytest.raises(SystemExit) as stop:
            run()
        out, err = capsys.readouterr()
        code = stop.value.code
        return (0 if code is None else int(code)), out, err

    return call
