"""Nothing of the surroundings is decided by an import: it would hold for the process, whatever is set or moved later.

The one exception is the folder of compiled code (`posable.compute.kernels`): Numba asks for it while it decorates.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "posable"
READ = {"os.environ", "sys.stdout", "sys.stderr", "sys.stdin", "sys.argv"}
CALLED = {
    *("os.getenv", "os.getcwd", "os.cpu_count", "os.get_terminal_size", "shutil.get_terminal_size", "Console"),
    *("Path.cwd", "Path.home", "tempfile.gettempdir", "cache_dir", "numba.get_num_threads", "time.time"),
    *("time.monotonic", "time.perf_counter", "datetime.now", "locale.getpreferredencoding", "locale.getlocale"),
    *("default_rng", "random.default_rng"),
}


def test_an_import_reads_nothing_of_its_surroundings():
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 100
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {name}"
        for path in files
        for line, name in read_at_import(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not found, "\n".join(found)


def test_such_reading_would_be_seen():
    seen = """
WIDE = os.environ.get("COLUMNS")
SEEDED = np.random.default_rng(0)
def narrow(width=os.get_terminal_size()): return width
class Table:
    console = Console(width=3)
"""
    unseen = """
def wide(): return os.environ["COLUMNS"]
class Table(Console):
    made: float = field(default_factory=time.perf_counter)
    later = lambda: Path.cwd()
    def width(self): return Console()
"""
    assert [line for line, _ in read_at_import(ast.parse(seen))] == [2, 3, 4, 6]
    assert not list(read_at_import(ast.parse(unseen)))


def read_at_import(node: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, name) of the surroundings read when a module is imported: by its top, classes, decorators and defaults."""
    parts: list[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        parts = [node.args, *getattr(node, "decorator_list", [])]  # the body runs later
    elif isinstance(node, ast.Call) and last_two(node.func) in CALLED:
        yield node.lineno, last_two(node.func)
    elif isinstance(node, ast.Attribute) and last_two(node) in READ:
        yield node.lineno, last_two(node)
    for part in parts:
        yield from read_at_import(part)


def last_two(node: ast.AST) -> str:
    """The last two words of a name with dots: "os.environ", "random.default_rng"; empty for what is no name."""
    return ".".join(ast.unparse(node).split(".")[-2:]) if isinstance(node, ast.Attribute | ast.Name) else ""
