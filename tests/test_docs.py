"""What the documentation says exists, exists."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROWS = [
    line
    for line in (ROOT / "docs" / "papers.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("|") and not line.startswith(("|---", "| element"))
]


def resolve(name: str) -> object:
    """The object of a dotted name: as much of it as is modules, then attributes."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            found = getattr(found, part)
        return found
    raise AttributeError(name)


def test_every_row_about_the_papers_has_a_status():
    for row in ROWS:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) == 4, row
        assert re.match(r"(built|part|planned)\b", cells[3]), row
        assert cells[3].startswith("planned") or (cells[1] and cells[2]), f"say where and what shows it: {row}"


def test_every_row_about_the_papers_names_a_test():
    """In the column that says what shows it; that the test exists is tested below."""
    assert len(ROWS) > 50
    for row in ROWS:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[3].startswith("planned") or re.search(r"`test_\w+`", cells[2]), f"name a test: {row}"


@pytest.mark.parametrize("name", sorted({name for row in ROWS for name in re.findall(r"`(posable\.[\w.]+)`", row)}))
def test_code_that_the_papers_page_names_exists(name):
    assert resolve(name) is not None


@pytest.mark.parametrize("name", sorted({name for row in ROWS for name in re.findall(r"`(test_\w+)`", row)}))
def test_tests_that_the_papers_page_names_exist(name):
    sources = (ROOT / "tests").rglob("test_*.py")
    assert any(f"def {name}(" in source.read_text(encoding="utf-8") for source in sources)


def test_papers_are_named_by_their_authors():
    """Readers have no list of numbered papers: not in the documentation, not in the help of commands."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    wrong = [
        f"{page.relative_to(ROOT)}: {found}"
        for page in pages
        if "_build" not in page.parts
        for found in re.findall(r"papers? 00[0-9]\b", page.read_text(encoding="utf-8"))
    ]
    assert not wrong, "\n".join(wrong)


def test_links_between_files_lead_somewhere():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        if "_build" in page.parts:
            continue
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} points to {target}"
