"""The gallery: each program of `examples/` with what it prints, the picture it draws and the body that plays.

Why not sphinx-gallery: it runs examples inside Sphinx, where kernels are plain Python (`conf.py` turns the compiler off
so that they can be documented) and where a job for several processes finds no module of its own. Here each program runs
as a user runs it, in a process of its own, and `make check-examples` and the gallery share what it wrote
(`build/examples`).

The directive `player` puts the player of an example on any page: its argument is the example's
number; `still` puts its picture there.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))
OUTPUTS = ROOT / "build" / "examples"
PAGES = ROOT / "docs" / "examples"
CARD = (
    """<a class="example" href="{stem}.html"><img src="{picture}" alt="" loading="lazy"><b>{number}</b> {title}</a>"""
)


def run_example(example: Path) -> Path:
    """Run a program where its outputs are missing or older than it; return their folder."""
    folder = OUTPUTS / example.stem
    printed = folder / "printed.txt"
    if not printed.exists() or printed.stat().st_mtime < example.stat().st_mtime:
        folder.mkdir(parents=True, exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
        environment = {**kept, "MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT / "src")}
        command = [sys.executable, str(example), str(folder)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{example.name} failed:\n{done.stderr}")
        printed.write_text(done.stdout, encoding="utf-8")
    return folder


def element_of(example: Path) -> str:
    """The player of an example, for a page that loads the script itself."""
    page = (OUTPUTS / example.stem / f"{example.stem}.html").read_text(encoding="utf-8")
    return re.search(r"<posable-player.*?</posable-player>", page, re.DOTALL)[0].replace(" page ", " ")


def write_pages(app) -> None:
    """Write a page for each example, and the cards that lead to them."""
    with ThreadPoolExecutor(2) as pool:
        folders = list(pool.map(run_example, EXAMPLES))
    cards = []
    for example, folder in zip(EXAMPLES, folders, strict=True):
        number = example.stem.partition("_")[0]
        source = example.read_text(encoding="utf-8")
        headline, _, rest = ast.get_docstring(ast.parse(source)).partition("\n\n")
        title, _, promise = headline.partition(": ")
        printed = (folder / "printed.txt").read_text(encoding="utf-8")
        code = source.split('"""\n', 1)[1].strip()
        shutil.copy(folder / f"{example.stem}.png", PAGES / f"{example.stem}.png")
        shutil.copy(folder / f"{example.stem}.glb", PAGES / f"{example.stem}.glb")
        write_if_new(
            PAGES / f"{example.stem}.md",
            f"# {number} · {title}\n\n{promise[0].upper()}{promise[1:]} {rest}\n\n"
            f"```{{player}} {number}\n```\n\n"
            f"```python\n{code}\n```\n\nIt prints:\n\n```text\n{printed}```\n\n"
            f"![What the program draws]({example.stem}.png)\n\n"
            f"The program is `examples/{example.name}`; {{download}}`its GLB <{example.stem}.glb>` opens in Blender, "
            "three.js and game engines.\n",
        )
        picture = f"../_images/{example.stem}.png"  # where Sphinx puts the picture of the page
        cards.append(CARD.format(stem=example.stem, picture=picture, number=number, title=title))
    write_if_new(PAGES / "cards.txt", f'<div class="examples">\n{chr(10).join(cards)}\n</div>\n')


def write_if_new(path: Path, text: str) -> None:
    """Sphinx reads a page again when its file has changed."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


class PlayerDirective(Directive):
    """The player of an example, by its number."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        (example,) = (path for path in EXAMPLES if path.stem.startswith(f"{self.arguments[0]}_"))
        self.state.document.settings.env.note_dependency(str(OUTPUTS / example.stem / f"{example.stem}.html"))
        return [nodes.raw("", f'<div class="player">{element_of(example)}</div>', format="html")]


class StillDirective(Directive):
    """The picture that an example draws, by its number."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        (example,) = (path for path in EXAMPLES if path.stem.startswith(f"{self.arguments[0]}_"))
        return [nodes.image(uri=f"/examples/{example.stem}.png", alt=example.stem.partition("_")[2].replace("_", " "))]


def add_script(app, pagename, templatename, context, doctree) -> None:
    """Load the player on pages that have one: one script, however many players."""
    if "<posable-player" in context.get("body", ""):
        app.add_js_file("player.min.js", loading_method="defer")


def setup(app) -> dict[str, bool]:
    app.add_directive("player", PlayerDirective)
    app.add_directive("still", StillDirective)
    app.connect("builder-inited", write_pages)
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True}
