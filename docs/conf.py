"""Sphinx settings. `make docs` builds with warnings as errors."""

import importlib
import json
import os
import re
import sys
from pathlib import Path

# Kernels are documented as the plain functions they are written as.
os.environ["NUMBA_DISABLE_JIT"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import posable

project = "Posable"
copyright = "the Posable authors, Apache-2.0"
release = version = posable.__version__

sys.path.insert(0, str(Path(__file__).resolve().parent))
extensions = ["gallery", "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "Posable"
html_static_path = ["_static", "../src/posable/assets/player.min.js"]
html_css_files = ["docs.css"]

default_role = "code"  # docstrings write `name` for code
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": False}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
suppress_warnings = ["autodoc.mocked_object"]


_BAR = re.compile(r"(`[^`]*`)|\|")  # a bar outside code: |v| is a length here, a substitution in reStructuredText


def _rst_from_markdown(lines: list[str]) -> list[str]:
    """Docstrings are written in plain Markdown; turn its tables and fenced code into what Sphinx reads."""
    result: list[str] = []
    rest = list(lines)
    while rest:
        line = rest.pop(0)
        indent = line[: len(line) - len(line.lstrip())]
        if line.strip().startswith("```"):
            language = line.strip().strip("`") or "text"
            result += ["", f"{indent}.. code-block:: {language}", ""]
            while rest and not rest[0].strip().startswith("```"):
                result.append(f"   {rest.pop(0)}")
            rest[:1] = [""]
        elif line.strip().startswith("|") and rest and re.fullmatch(r"\s*\|[\s:|-]+\|\s*", rest[0]):
            rows = [line]
            rest.pop(0)
            while rest and rest[0].strip().startswith("|"):
                rows.append(rest.pop(0))
            result += ["", f"{indent}.. list-table::", f"{indent}   :header-rows: 1", ""]
            for row in rows:
                cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
                result += [f"{indent}   {'* -' if k == 0 else '  -'} {cell}" for k, cell in enumerate(cells)]
            result.append("")
        else:
            starts_list = line.strip().startswith("- ")
            if starts_list and result and result[-1].strip() and not result[-1].strip().startswith("- "):
                result.append("")  # a list right after a line of text
            result.append(_BAR.sub(lambda match: match[1] or r"\|", line))
    return result


def _limits_table() -> str:
    """The default limits, straight from the file that the package reads."""
    path = Path(posable.__file__).parent / "assets" / "human_limits.json"
    data = json.loads(path.read_text(encoding="utf-8"))

    def shape(swing: dict) -> str:
        if swing["kind"] == "hinge":
            return f"hinge, {swing['low']} to {swing['high']}"
        if swing["kind"] in ("ellipse", "ellipse through"):
            return f"{swing['kind']} " + " and ".join(
                f"{low:g} to {high:g}" for low, high in (swing["first"], swing["second"])
            )
        return "cone, " + ", ".join(f"{psi:g} at {theta}" for theta, psi in zip(swing["theta"][1:], swing["psi"][1:]))

    lines = ["| joint | swing | twist | source |", "|---|---|---|---|"]
    for name, joint in data["joints"].items():
        low, high = joint["twist"]
        lines.append(f"| {name} | {shape(joint['swing'])} | {low:g} to {high:g} | {joint['source']} |")
    shares = ", ".join(f"{name} {100 * share:.1f} %" for name, share in data["inside"].items())
    count, subjects = data["data"]["poses"], data["data"]["subjects"]
    foot = f"Fitted on {count:,} poses of {subjects} subjects. Of the poses of others, held out, inside: {shares}."
    return "\n".join([*lines, "", foot])


def _fill_in(app, name: str, source: list[str]) -> None:
    if name == "limits":
        source[0] = source[0].replace("<!-- the table of human limits -->", _limits_table())
    if name == "robots":
        results = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "retarget.md"
        source[0] = source[0].replace("<!-- the results beside GMR -->", results.read_text(encoding="utf-8"))


_API = Path(__file__).resolve().parent / "api"
_DOCUMENTED = {name for page in _API.glob("*.md") for name in re.findall(r"automodule:: (\S+)", page.read_text())}


def _only_once(app, what, name, obj, skip, options) -> bool | None:
    """Show everything on one page only: with two targets, references would be ambiguous.

    A room leaves out what a module of its own shows on a page of the reference, and pages of internals leave out what
    the reference shows.
    """
    if what != "module":
        return None
    shown = app.env.current_document.autodoc_module
    home = getattr(obj, "__module__", shown)
    if shown in _DOCUMENTED:
        return True if home != shown and home in _DOCUMENTED else None
    room = importlib.import_module(".".join(shown.split(".")[:2]))
    return True if name in getattr(room, "__all__", ()) else None


def setup(app) -> None:
    def process(app, what, name, obj, options, lines) -> None:
        lines[:] = _rst_from_markdown(lines)

    app.connect("source-read", _fill_in)
    app.connect("autodoc-skip-member", _only_once)
    # Before napoleon, which reads the sections ("Args:").
    app.connect("autodoc-process-docstring", process, priority=400)
