"""The examples are short, numbered, and end in a picture, a GLB and a page; `make check-examples` runs them."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_there_are_thirteen_and_they_are_numbered():
    assert [path.name[:3] for path in EXAMPLES] == [f"{number:02}_" for number in range(1, 14)]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_ends_in_a_picture_a_glb_and_a_page(path):
    source = path.read_text(encoding="utf-8")
    assert len(source.splitlines()) < 60
    written = set(re.findall(r'OUT / "([^"]+)"', source))
    assert {f"{path.stem}.{suffix}" for suffix in ("png", "glb", "html")} <= written
    assert "sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()" in source  # never into the repository
    headline, _, rest = ast.get_docstring(ast.parse(source)).partition("\n\n")
    assert ": " in headline and rest  # the gallery's title, what it promises, and what it shows
