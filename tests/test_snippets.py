"""The programs of the documentation and the commands of the README run, in the order in which a reader types them."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from posable.cli.app import run

ROOT = Path(__file__).resolve().parents[1]
NOT_RUN = {
    "kernels.md": "a kernel is compiled from a file of its own",
    "gpu.md": "it needs a GPU; tests/test_gpu.py runs where one is",
    "jobs.md": "a job for workers lives in a module of its own; examples/10_a_folder_on_all_cores.py is run",
    "studio.md": "a studio runs until it is closed; tests/studio opens it",
}
FILES = {
    "bodies.md": {
        "boxing.bvh": "cmu/17_10.bvh",
        "KayKit_Knight.glb": "characters/KayKit_Knight.glb",
        "g1.xml": "robots/mjcf/unitree_g1/g1.xml",
    },
    "files.md": {
        "Fox.glb": "characters/Fox.glb",
        "KayKit_Knight.glb": "characters/KayKit_Knight.glb",
        "g1.xml": "robots/mjcf/unitree_g1/g1.xml",
    },
    "robots.md": {"g1.xml": "robots/mjcf/unitree_g1/g1.xml"},
}
"""What a page says that its reader has, and where ours is."""


def blocks(page: Path, kind: str) -> list[tuple[int, str]]:
    """(line, text) of the fenced blocks of a kind."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```([^\n]*)\n(.*?)^```", text, re.S | re.M)
    return [(text[: one.start(2)].count("\n"), one[2]) for one in found if one[1] == kind]


WRITTEN = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs").glob("tutorials/*.md")))
WRITTEN += tuple(sorted((ROOT / "docs").glob("api/*.md")))
PAGES = [page for page in WRITTEN if blocks(page, "python")]


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.relative_to(ROOT).as_posix().removeprefix("docs/") not in NOT_RUN],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_the_programs_of_a_page_run(page: Path, tmp_path: Path, monkeypatch, request):
    for name, source in FILES.get(page.relative_to(ROOT).as_posix().removeprefix("docs/"), {}).items():
        shutil.copy(request.getfixturevalue("data_dir") / source, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "snippet"}
    for line, text in blocks(page, "python"):
        exec(compile("\n" * line + text, str(page), "exec"), names)


def test_the_program_of_the_readme_prints_what_it_did(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ((_, text),) = blocks(ROOT / "README.md", "python")
    exec(compile(text, "README.md", "exec"), {"__name__": "snippet"})
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == text.count("print(") >= 7
    for line, word in zip(
        printed, ("Motion", "reached", "71 reached", "elbow", "reached", "reached", "reached"), strict=True
    ):
        assert word in line, line


def test_the_commands_of_the_readme_run_one_after_the_other(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    commands = [
        shlex.split(line, comments=True)
        for _, text in blocks(ROOT / "README.md", "")
        for line in text.splitlines()
        if line.split(" ")[0] == "posable"
    ]
    assert len(commands) > 8
    for command in commands:
        if set(command[1:2]) & {"view", "studio"}:  # these stay open
            continue
        monkeypatch.setattr("sys.argv", command)
        with pytest.raises(SystemExit) as stop:
            run()
        assert not stop.value.code, f"{' '.join(command)}: {capsys.readouterr().err}"
