"""The command line, called in this process."""

import pytest

from posable.cli.app import run


@pytest.fixture
def posable(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Call `posable ARGS` in this process; gives (exit code, stdout, stderr)."""

    def call(*args: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["posable", *map(str, args)])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as stop:
            run()
        out, err = capsys.readouterr()
        code = stop.value.code
        return (0 if code is None else int(code)), out, err

    return call
