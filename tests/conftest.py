"""Fixtures that every room's tests share: where real data lies, and what to do when something is not at hand.

A test that needs real motion, a browser or node says so by asking for the fixture below. Where the thing is missing
the test skips and says why; under ``POSABLE_REQUIRE=browser,data,node`` (as in ``.ci/run``) it fails instead, so that
nothing is skipped there for want of them.
"""

import os
import platform
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
NODE_DIR = ROOT / "tests" / "node"

# The order in which rooms are tested: those that take longest first, so that no worker is left with one at the end.
# With `--dist loadscope` a room's tests share one worker, and so what they prepare once (a studio, a browser's page).
ROOMS = (
    *("compute/test_library", "studio/test_stage_page", "test_ptx", "studio/pose", "studio/test_browser"),
    *("studio/test_first_hour",),
    *("compute/test_targets", "limb", "edit", "cli", "reach", "studio/behaviours", "studio/trackers", "formats"),
)

# The JIT compiles for the processor that the library is made for: it takes what `make kernels` kept of its work.
if platform.machine() == "x86_64" and Path("/proc/cpuinfo").exists() and "avx2" in Path("/proc/cpuinfo").read_text():
    os.environ.setdefault("NUMBA_CPU_NAME", "x86-64-v3")
    os.environ.setdefault("NUMBA_CPU_FEATURES", "")

# Time is never asserted, so no deadline; the same cases every time in make test, fresh ones in make soak.
settings.register_profile("test", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("soak", deadline=None, derandomize=False, suppress_health_check=[HealthCheck.too_slow])
# Every line once rather than every case: for coverage, with the compiler off, and for the run with bounds checked.
settings.register_profile(
    "few", deadline=None, derandomize=True, max_examples=10, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "test"))


@pytest.fixture
def drawn(request: pytest.FixtureRequest) -> Callable[..., int]:
    """How many of its cases a test of the soak draws: all, or the share that `$POSABLE_SOAK_SHARE` says.

    `python -m tools.soak` writes the number down, and that of a whole soak. `each` cases come with one of the count.
    """
    share = float(os.environ.get("POSABLE_SOAK_SHARE", "1"))

    def count(wanted: int, each: int = 1, least: int = 1) -> int:
        number = min(wanted, max(least, round(share * wanted)))
        request.node.user_properties += [("cases", number * each), ("wanted", wanted * each)]
        return number

    return count


def required(what: str) -> bool:
    """Whether ``what`` ("browser", "data", "node") is named in ``POSABLE_REQUIRE``."""
    return what in {part.strip() for part in os.environ.get("POSABLE_REQUIRE", "").split(",")}


def require_or_skip(what: str, why: str) -> None:
    """Skip the running test because ``what`` is not at hand, or fail it where ``what`` is required."""
    if required(what):
        pytest.fail(f"{why} (and POSABLE_REQUIRE names {what!r})", pytrace=False)
    pytest.skip(why)


def data_folder() -> Path:
    """The folder of real motion and characters: ``$POSABLE_DATA``, else ``../shared/data`` beside the repository."""
    named = os.environ.get("POSABLE_DATA")
    return Path(named) if named else ROOT.parent / "shared" / "data"


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """`data_folder`, where it is there."""
    folder = data_folder()
    if not folder.is_dir():
        require_or_skip("data", f"no data at {folder}: set POSABLE_DATA")
    return folder


@pytest.fixture(scope="session")
def cmu(data_dir: Path) -> Path:
    """The folder of the CMU clips."""
    folder = data_dir / "cmu"
    if not folder.is_dir():
        require_or_skip("data", f"no CMU clips at {folder}")
    return folder


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a chromium to drive with Playwright: ``$POSABLE_CHROMIUM``, else the first one on the path."""
    named = os.environ.get("POSABLE_CHROMIUM")
    found = named or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not found or not Path(found).exists():
        require_or_skip("browser", "no chromium on the path: install Debian's chromium or set POSABLE_CHROMIUM")
    return str(found)


@pytest.fixture(scope="session")
def browser(chromium: str):
    """A headless chromium driven by Playwright, one for the whole session; open a context or page in each test."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        require_or_skip("browser", "playwright is not installed: pip install posable[dev]")
    with sync_playwright() as playwright:
        # No GPU on a test machine: SwiftShader draws WebGL in software. No sandbox: CI runs as root.
        arguments = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
        opened = playwright.chromium.launch(executable_path=chromium, headless=True, args=arguments)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def node() -> Path:
    """``tests/node``, with its ``node_modules`` installed (``make node``); run scripts there with ``node``."""
    if shutil.which("node") is None:
        require_or_skip("node", "node is not on the path")
    if not (NODE_DIR / "node_modules").is_dir():
        require_or_skip("node", f"no node_modules in {NODE_DIR}: run make node")
    return NODE_DIR


def room_of(nodeid: str) -> str:
    """The room whose tests this one belongs to: its folder (a tab's, in the studio; a file, of compute), or its file.

    A recorded call (`tests/test_recorded.py`) belongs to the room that it calls.
    """
    file, _, test = nodeid.partition("::")
    if Path(file).name == "test_recorded.py" and "[" in test:
        return test.partition("[")[2].partition(".")[0]
    parts = Path(nodeid.partition("::")[0]).with_suffix("").parts[1:]
    return "/".join(parts[:2] if parts[0] in ("studio", "compute") else parts[:1])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests in the order of `ROOMS`, the others after them."""

    def place(item: pytest.Item) -> int:
        room = room_of(item.nodeid)
        return ROOMS.index(room) if room in ROOMS else len(ROOMS)

    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    """A scope is a room. (`--dist loadgroup` would do, but xdist 3.8 loses the groups under pytest 9.)"""
    if config.getoption("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByRoom(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return room_of(nodeid)

    return ByRoom(config, log)
