"""The library compiled ahead of time: the JIT's answers to the last bit, and no wrong argument that breaks it."""

import inspect
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest

from posable.compute import Batch, PosableError, batch, build, calls, kernels, library, prange, threads
from tests.uses import USES

SOURCE = Path(__file__).parents[2] / "src"
needs_library = pytest.mark.skipif(
    kernels.mode() != "library" or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="kernels run by the JIT here"
)


def copied(argument):
    """Arguments with arrays of their own."""
    if isinstance(argument, tuple):
        parts = tuple(map(copied, argument))
        return type(argument)(*parts) if hasattr(argument, "_fields") else parts
    return argument.copy() if isinstance(argument, np.ndarray) else argument


def same(one, other) -> bool:
    """Whether two arrays are the same to the last bit; the gaps between the fields of records are nobody's."""
    if one.dtype.names:
        return all(
            same(np.ascontiguousarray(one[field]), np.ascontiguousarray(other[field])) for field in one.dtype.names
        )
    return one.tobytes() == other.tobytes()


def leaves(argument):
    """All arrays and numbers of arguments, tuples taken apart."""
    return [leaf for part in argument for leaf in leaves(part)] if isinstance(argument, tuple) else [argument]


@pytest.fixture(scope="module")
def used() -> dict[str, tuple[Batch, list[tuple]]]:
    """What each batch is called with: up to three calls, copied before they ran."""
    found: dict[str, tuple[Batch, list[tuple]]] = {}
    run = Batch.__call__

    def recording(one: Batch, *arguments) -> None:
        name = f"{one.function.__module__}.{one.function.__name__}"
        _, rows = found.setdefault(name, (one, []))
        if len(rows) < 3:
            rows.append(copied(arguments))
        run(one, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Batch, "__call__", recording)
        for use in USES:
            use()
    return found


@needs_library
def test_the_table_says_what_batches_are_called_with(used):
    for name, (_, rows) in used.items():
        if name.startswith("posable."):
            for arguments in rows:
                assert calls.described(arguments[1:]) == calls.calls()[name], "run python -m tools.record_calls"
    assert calls.calls().keys() == {name for name in used if name.startswith("posable.")}


def test_every_batch_of_the_package_is_in_the_table():
    package = SOURCE / "posable"
    written = set()
    for path in package.rglob("*.py"):
        lines = path.read_text(encoding="utf-8").splitlines()
        for k, line in enumerate(lines):
            if line.startswith("@batch"):
                module = ".".join(("posable", *path.relative_to(package).with_suffix("").parts)).removesuffix(
                    ".__init__"
                )
                written.add(f"{module}.{lines[k + 1].split('(')[0].removeprefix('def ')}")
    assert written == calls.calls().keys()


def test_the_words_of_the_table_are_read_as_they_were_written():
    for text in calls.calls().values():
        kinds = calls.parsed(text)
        made = tuple(map(example, kinds))
        assert calls.described(made) == text


def example(kind):
    """An argument of a kind."""
    if kind.dtype is not None:
        return np.zeros((2,) * kind.axes, kind.dtype)
    if kind.scalar is not None:
        return kind.scalar(1)
    parts = map(example, kind.parts)
    return kind.named(*parts) if kind.named else tuple(parts)


@needs_library
@pytest.mark.parametrize("name", sorted(calls.calls()))
def test_the_library_gives_the_answers_of_the_jit_to_the_last_bit(name, used):
    one, rows = used[name]
    for arguments in rows:
        mine, other = copied(arguments), copied(arguments)
        n = arguments[0]
        one(n, *mine[1:])
        one.jit(0, n, n, *other[1:])
        parameters = list(inspect.signature(one.function).parameters)
        for parameter, *both in zip(parameters, mine, other, strict=True):
            for got, wanted in zip(*map(leaves, both), strict=True):
                if isinstance(wanted, np.ndarray):
                    assert same(got, wanted), parameter


@needs_library
def test_a_loop_over_parts_of_the_rows_gives_the_whole(used):
    one, rows = used["posable.skeleton.forward.forward_rows"]
    n, *arguments = rows[0]
    whole, parts = copied(tuple(arguments)), copied(tuple(arguments))
    compiled = library.loop(one)
    compiled(0, n, n, whole)
    for first in range(n):
        compiled(first, first + 1, n, parts)
    assert all(same(a, b) for a, b in zip(whole, parts, strict=True))


def wrong(arguments: tuple, rng: np.random.Generator) -> tuple[object, ...]:
    """Arguments with one thing wrong, whatever it is."""
    kinds = ("none", "text", "dtype", "axes", "order", "fewer", "more", "nested", "list")
    made = list(arguments)
    k = int(rng.integers(len(made)))
    how = kinds[int(rng.integers(len(kinds)))]
    one = made[k]
    if how == "fewer":
        return tuple(made[:-1])
    if how == "more":
        return (*made, np.zeros(3))
    if how == "nested":
        made[k] = (one,)
    elif how == "list" or how == "none" or how == "text":
        made[k] = {"list": [1.0, 2.0], "none": None, "text": "text"}[how]
    elif isinstance(one, tuple):
        inner = tuple(wrong(tuple(one), rng))
        made[k] = inner
    elif not isinstance(one, np.ndarray):
        made[k] = object()
    elif one.size == 0 or how == "axes":  # of nothing, every order is the same
        made[k] = one[None]
    elif how == "dtype":
        made[k] = np.zeros(one.shape, "f4" if one.dtype != np.float32 else "f8")
    else:
        shape = (*one.shape[:-1], 2 * one.shape[-1] + 2)
        made[k] = np.zeros(shape, one.dtype)[..., ::2]
    return tuple(made)


@needs_library
def test_a_wrong_argument_is_an_error_and_writes_nothing(used, monkeypatch):
    monkeypatch.setattr(library, "_numba_is_there", lambda: False)
    rng = np.random.default_rng(0)
    tried = 0
    for name in sorted(calls.calls()):
        one, rows = used[name]
        for _ in range(60):
            given = copied(rows[0])
            before = copied(given)
            with pytest.raises(PosableError):
                one(given[0], *wrong(given[1:], rng))
            assert all(
                same(a, b) for a, b in zip(leaves(given), leaves(before), strict=True) if isinstance(a, np.ndarray)
            )
            tried += 1
    assert tried > 4000


@needs_library
@pytest.mark.parametrize(
    "rows", [(-1, 2, 3), (2, 1, 3), (0, 4, 3), (0, 1, -5), (0, 2**70, 3), (0.5, 1, 2), (None, 1, 1)]
)
def test_wrong_numbers_of_rows_are_refused(used, rows):
    one, recorded = used["posable.math._rotate"]
    with pytest.raises(ValueError, match="rows"):
        library.loop(one)(*rows, recorded[0][1:])


@needs_library
def test_a_number_of_rows_beyond_all_arrays_is_refused(used):
    one, recorded = used["posable.math._rotate"]
    for n in (2**31, 2**63 - 1, 2**63, 2**70, -(2**70)):
        with pytest.raises(PosableError, match="rows"):
            one(n, *recorded[0][1:])


@needs_library
def test_too_few_rows_are_refused_also_where_numba_is_installed(used, monkeypatch):
    monkeypatch.delenv("POSABLE_KERNELS", raising=False)
    one, _ = used["posable.math._rotate"]
    q, v, out = np.zeros((5, 4)), np.zeros((5, 3)), np.zeros((5, 3))
    for arrays in ((q[:4], v, out), (q, v[:1], out), (q, v, out[:0])):
        with pytest.raises(PosableError, match="rows; expected 5"):
            one(5, *arrays)


@needs_library
@pytest.mark.parametrize("name", ["posable.reach.kernels.reach_rows", "posable.express.filter.filter_rows"])
def test_rows_that_lie_along_another_axis_are_counted_too(used, name):
    """Starting pose and solution are one array (2, N, ...): with too few rows the loop would write past its end."""
    one, recorded = used[name]
    n, *arguments = recorded[0]
    refused = 0
    for array in leaves(tuple(arguments)):
        if not isinstance(array, np.ndarray) or array.ndim < 2 or array.shape[1] != n or array.shape[0] == n:
            continue
        short = swapped(tuple(arguments), array, np.ascontiguousarray(array[:, :-1]))
        with pytest.raises(PosableError, match=f"{n - 1} rows along axis 1; expected {n}"):
            one(n, *short)
        refused += 1
    assert refused >= 2


@needs_library
@pytest.mark.parametrize("way", ["library", ""])
def test_an_array_that_is_too_short_along_another_axis_is_refused_and_nothing_is_written(used, monkeypatch, way):
    """Positions of two numbers, say: the loop would read, and write, past the end of the array."""
    monkeypatch.setenv("POSABLE_KERNELS", way)
    one, _ = used["posable.math._rotate"]
    q, v, out = np.ones((5, 4)), np.ones((5, 3)), np.zeros((5, 3))
    wanted = [((q[:, :3], v, out), 1, 4), ((q, v[:, :1], out), 2, 3), ((q, v[:, :0], out), 2, 3)]
    for arrays, number, expected in [*wanted, ((q, v, np.zeros((5, 2))), 3, 3), ((q, v, np.zeros((5, 0))), 3, 3)]:
        given = tuple(map(np.ascontiguousarray, arrays))
        with pytest.raises(PosableError, match=f"argument {number} has length . along axis 1; expected {expected}"):
            one(5, *given)
        assert not given[2].any()
    one(0, *(np.zeros((0, 0)) for _ in range(3)))  # of no rows, nothing is read


@needs_library
def test_every_batch_refuses_arrays_that_lack_their_last_numbers(used):
    """Quaternions of three numbers and the like: those axes whose length the source says, everywhere."""
    refused = set()
    for name in calls.calls():
        one, rows = used[name]
        n, *arguments = rows[0]
        for array in leaves(tuple(arguments)):
            if not isinstance(array, np.ndarray) or array.ndim < 2 or array.shape[-1] not in (3, 4) or not array.size:
                continue
            short = swapped(tuple(arguments), array, np.ascontiguousarray(array[..., :2]))
            try:
                library.reader(one).read(0, n, n, short)
            except ValueError as error:
                assert "expected" in str(error)
                refused.add(name)
    assert len(refused) > 45


def swapped(argument, one, other):
    """Arguments with one array in another's place."""
    if isinstance(argument, tuple):
        parts = tuple(swapped(part, one, other) for part in argument)
        return type(argument)(*parts) if hasattr(argument, "_fields") else parts
    return other if argument is one else argument


@needs_library
def test_a_read_only_array_is_read_and_never_written(used, monkeypatch):
    monkeypatch.setattr(library, "_numba_is_there", lambda: False)
    one, rows = used["posable.limb.solve.solve_rows"]
    given, wanted = copied(rows[0]), copied(rows[0])
    one(*wanted)
    (limb, *_), *_ = given[1:]
    limb.flags.writeable = False  # a model that only is read
    one(*given)
    assert same(given[-1], wanted[-1])
    values = given[-2]
    values[:] = 0.0
    values.flags.writeable = False  # an answer
    with pytest.raises(PosableError, match="read-only"):
        one(*given)
    assert not values.any()


@needs_library
def test_records_of_an_equal_dtype_that_is_another_object_are_taken(used):
    one, rows = used["posable.limb.solve.forward_rows"]
    given, wanted = copied(rows[0]), copied(rows[0])
    one(*wanted)
    limb = given[1]
    described = np.dtype(
        {
            **{k: [limb.dtype.fields[n][j] for n in limb.dtype.names] for j, k in ((0, "formats"), (1, "offsets"))},
            "names": list(limb.dtype.names),
            "itemsize": limb.dtype.itemsize,
        },
        align=True,
    )
    assert described == limb.dtype and described is not limb.dtype
    other = np.zeros(limb.shape, described)
    other[:] = limb
    one(given[0], other, *given[2:])
    assert all(same(a, b) for a, b in zip(given[2:], wanted[2:], strict=True))


@batch(rows=10)
def _doubled(n, values, out):
    for i in prange(n):
        out[i] = 2.0 * values[i]


def test_a_batch_of_ones_own_runs_beside_the_library():
    values, out = np.arange(30.0), np.zeros(30)
    _doubled(30, values, out)
    np.testing.assert_array_equal(out, 2.0 * values)


@needs_library
def test_other_types_go_to_numba(used, monkeypatch):
    monkeypatch.delenv("POSABLE_KERNELS", raising=False)
    one, _ = used["posable.math._rotate"]
    q = np.array([[1.0, 0.0, 0.0, 0.0]] * 2, dtype=np.float32)
    v, out = np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)
    one(2, q, v, out)
    np.testing.assert_array_equal(out, v)


def test_threads_that_call_at_once_do_not_disturb_each_other():
    import posable.math as pm

    rng = np.random.default_rng(3)
    q, v = pm.normalize(rng.normal(size=(20_000, 4))), rng.normal(size=(20_000, 3))
    with threads(1):
        wanted = pm.rotate(q, v)
    answers: list[np.ndarray] = []

    def work() -> None:
        for _ in range(5):
            answers.append(pm.rotate(q, v))

    workers = [threading.Thread(target=work) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60.0)
    assert len(answers) == 30 and all(np.array_equal(answer, wanted) for answer in answers)


def run(code: str, **variables: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "POSABLE_KERNELS": "", **variables}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_after_a_parallel_batch_computes():
    code = """
import os, warnings, numpy as np, posable.math as pm
warnings.simplefilter("ignore")
v = np.random.default_rng(0).normal(size=(50_000, 3))
wanted = pm.exp(v)
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(pm.exp(v), wanted) else 1)
print(os.waitpid(child, 0)[1])
"""
    assert run(code, POSABLE_THREADS="3") == "0"


NO_NUMBA = "import sys; sys.modules['numba'] = None; sys.modules['llvmlite'] = None\n"


@needs_library
def test_nothing_of_numba_is_needed_for_an_answer():
    code = NO_NUMBA + (
        "import posable as ps\nbody = ps.figure()\n"
        "print(body.place(body.neutral_pose, 'right_hand', ps.Target([-0.3, 1.3, 0.4])).status, 'numba' in sys.modules)"
    )
    assert run(code).split() == ["REACHED", "True"]  # the None above


@needs_library
@pytest.mark.parametrize(
    ("way", "says"), [("jit", "jit"), ("library", "library"), ("", "library")], ids=["jit", "library", "either"]
)
def test_one_switch_chooses(way, says):
    assert run("from posable.compute import kernels; print(kernels.mode())", POSABLE_KERNELS=way) == says


def test_an_unknown_way_is_named():
    code = "from posable.compute import kernels\ntry: kernels.mode()\nexcept Exception as e: print(e)"
    assert "'fast'; expected 'jit', 'library' or 'checked'" in run(code, POSABLE_KERNELS="fast")


@needs_library
def test_a_library_of_other_sources_is_not_taken(tmp_path):
    copy = tmp_path / "posable"
    shutil.copytree(SOURCE / "posable", copy, ignore=shutil.ignore_patterns("__pycache__"))
    code = "from posable.compute import kernels, library; print(kernels.mode(), library.why_not())"
    assert run(code, PYTHONPATH=str(tmp_path)) == "library"
    changed, before = copy / "math" / "vector.py", (copy / "math" / "vector.py").read_text()
    changed.write_text(before + "\n# another\n")
    way, _, why = run(code, PYTHONPATH=str(tmp_path)).partition(" ")
    assert way == "jit" and "no compiled library of these sources" in why
    mine = copy / "compute" / library.file_in(library.FOLDER).name
    content = mine.read_bytes()
    named = run(
        f"from posable.compute import library; from pathlib import Path\n"
        f"print(library.file_name(Path({str(mine)!r}).read_bytes()))",
        PYTHONPATH=str(tmp_path),
    )
    mine.rename(copy / "compute" / named)
    way, _, why = run(code, PYTHONPATH=str(tmp_path)).partition(" ")
    assert way == "jit" and "was made of other sources" in why
    changed.write_text(before)
    (copy / "compute" / library.file_name(b"no library")).write_bytes(b"no library")
    way, _, why = run(code, PYTHONPATH=str(tmp_path)).partition(" ")
    assert way == "jit" and "does not load" in why
    (copy / "compute" / library.file_name(b"no library")).unlink()
    scrambled = content[:1_000_000] + bytes(4096) + content[1_004_096:]
    for damaged in (content[:1000], content[: len(content) // 2], content[:-1], scrambled, b""):
        mine.write_bytes(damaged)  # a library that is cut off takes the process down where it is loaded
        way, _, why = run(code, PYTHONPATH=str(tmp_path)).partition(" ")
        assert way == "jit" and "is damaged" in why


@needs_library
def test_a_library_for_other_records_is_not_taken(tmp_path):
    """The dtype of a record stands in a file without kernels: code for another layout would read the wrong bytes."""
    copy = tmp_path / "posable"
    shutil.copytree(SOURCE / "posable", copy, ignore=shutil.ignore_patterns("__pycache__"))
    changed = copy / "skeleton" / "dofs.py"
    changed.write_text(changed.read_text() + "\n# another\n")
    assert run("from posable.compute import kernels; print(kernels.mode())", PYTHONPATH=str(tmp_path)) == "jit"


@needs_library
def test_a_library_that_is_built_meanwhile_is_taken_for_what_was_not_called_yet(tmp_path):
    copy = tmp_path / "posable"
    shutil.copytree(SOURCE / "posable", copy, ignore=shutil.ignore_patterns("__pycache__", "_loops_*"))
    code = f"""
import shutil
import posable.math as pm
from posable.compute import kernels
print(kernels.mode())
shutil.copy({str(library.file_in(library.FOLDER))!r}, {str(copy / "compute")!r})
pm.exp([0.1, 0.2, 0.3])
print(type(pm._exp._part).__name__)
"""
    assert run(code, PYTHONPATH=str(tmp_path)).split() == ["jit", "builtin_function_or_method"]


def test_without_a_compiler_the_build_says_what_happens_instead(tmp_path, monkeypatch, capsys):
    def refused(*_, **__):
        raise PosableError("no compiler")

    monkeypatch.setattr(build, "build", refused)
    monkeypatch.setattr(sys, "argv", ["build", "--out", str(tmp_path), "--quiet"])
    assert build.main() == 1
    assert "no library was made: no compiler" in capsys.readouterr().err


@needs_library
def test_the_library_knows_what_it_was_made_of():
    extension, _, _ = library._found()
    facts = json.loads(extension.table())
    assert facts["loops"].keys() == calls.calls().keys()
    assert extension.best_variant() < len(facts["cpus"])
    with pytest.raises(ValueError, match="no variant"):
        extension.take_variant(7)
    for plan in (b"A", b"A\1", b"Z", b"T", b"A\1\7\0", b"dA\1\0"):
        with pytest.raises(ValueError, match="no plan"):
            extension.loop(0, plan, (np.dtype(float),), (8,), np.ndarray, np.bool_)


@pytest.mark.skipif(kernels.mode() != "checked", reason="indices are checked in make check-bounds")
def test_an_index_past_the_end_stops_a_loop_of_the_checked_library():
    import posable as ps

    skeleton = ps.Skeleton(["a", "b", "c"], [-1, 0, 1], [[0, 0, 0], [0, 1, 0], [0, 1, 0]])
    skeleton.forward(skeleton.rest)
    joints = skeleton.packed.copy()
    joints["parent"][2] = 1000
    vars(skeleton)["packed"] = joints
    with pytest.raises(RuntimeError, match="an index beyond its array"):
        skeleton.forward(skeleton.rest)


@needs_library
def test_the_code_for_any_machine_gives_the_answers_of_that_for_newer_ones(used):
    """Only fused products may differ, and what they go through (the network of reconstruction, weights of edits)."""
    extension, _, _ = library._found()
    best = extension.best_variant()
    if best == 0:
        pytest.skip("one kind of code here")
    for name in sorted(calls.calls()):
        one, rows = used[name]
        mine, other = copied(rows[0]), copied(rows[0])
        n = mine[0]
        try:
            extension.take_variant(0)
            library.loop(one)(0, n, n, tuple(mine[1:]))
        finally:
            extension.take_variant(best)
        library.loop(one)(0, n, n, tuple(other[1:]))
        parameters = list(inspect.signature(one.function).parameters)
        for parameter, *both in zip(parameters, mine, other, strict=True):
            for got, wanted in zip(*map(leaves, both), strict=True):
                if isinstance(wanted, np.ndarray) and parameter != "work":
                    for field in wanted.dtype.names or (...,):
                        np.testing.assert_allclose(got[field], wanted[field], rtol=1e-7, atol=1e-7, err_msg=name)


def small_build(folder: Path, cache: Path) -> bytes:
    """A library of one batch."""
    name = "posable.math._angle"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POSABLE_CACHE", str(cache))
        patch.setattr(build, "calls", lambda: {name: calls.calls()[name]})
        lines: list[str] = []
        return build.build(build.this_machine(), folder, workers=1, show=lines.append).read_bytes()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """The cache that a build filled, and the library that it made."""
    folder = tmp_path_factory.mktemp("built")
    return folder / "cache", small_build(folder / "first", folder / "cache")


@needs_library
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler to link with")
@pytest.mark.parametrize("damage", ["object", "facts", "code"])
def test_what_a_build_kept_may_be_damaged(damage, built, tmp_path):
    """By a disk that was full, or a machine that was switched off: it is compiled anew, and not forever refused."""
    kept, first = built
    cache = tmp_path / "cache"
    shutil.copytree(kept, cache)
    pattern = {"object": "*.o", "facts": "*.json", "code": "*.bc"}[damage]
    found = [*(cache / "objects").glob(pattern)]
    assert found
    for path in found:
        path.write_bytes(path.read_bytes()[:7])
    if damage == "code":  # it is read again where an object is missing
        for path in (cache / "objects").glob("*.o"):
            path.unlink()
    assert small_build(tmp_path / "again", cache) == first


@needs_library
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups on this system")
def test_a_build_that_is_interrupted_says_so_in_one_sentence_and_leaves_nothing(tmp_path):
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code = f"{heard}import sys; from posable.compute.build import main; sys.exit(main())"
    cache, out = tmp_path / "cache", tmp_path / "out"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "POSABLE_CACHE": str(cache)}
    job = subprocess.Popen(
        [sys.executable, "-c", code, "--out", str(out), "--quiet"],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for _ in range(600):  # until it compiles
        if [*cache.glob("build-*.json")] and [*(cache / "kernels").rglob("*")]:
            break
        time.sleep(0.1)
    os.killpg(job.pid, signal.SIGINT)  # as a terminal does: to all processes of the group
    _, printed = job.communicate(timeout=60)
    assert job.returncode == 130
    assert printed.splitlines()[-1].startswith("no library was made: interrupted") and "Traceback" not in printed
    assert not out.exists() and not [*cache.glob("build-*.json")]


@needs_library
def test_what_is_no_file_is_no_library(tmp_path):
    """A link to a device without end, to itself, or a pipe: nothing of it is read."""
    copy = tmp_path / "posable"
    shutil.copytree(SOURCE / "posable", copy, ignore=shutil.ignore_patterns("__pycache__"))
    mine = copy / "compute" / library.file_in(library.FOLDER).name
    content = mine.read_bytes()
    code = "from posable.compute import kernels, library; print(kernels.mode(), library.why_not())"
    for made in (lambda: mine.symlink_to("/dev/zero"), lambda: mine.symlink_to(mine), mine.mkdir, lambda: pipe(mine)):
        mine.unlink()
        made()
        way, _, why = run(code, PYTHONPATH=str(tmp_path)).partition(" ")
        assert way == "jit" and "is damaged" in why
        if mine.is_dir():
            mine.rmdir()
            mine.touch()
    mine.unlink()
    mine.write_bytes(content)  # a damaged one beside one that is whole
    (copy / "compute" / library.file_name(b"")).write_bytes(b"no library")
    assert run(code, PYTHONPATH=str(tmp_path)) == "library"


def pipe(path: Path) -> None:
    if hasattr(os, "mkfifo"):
        os.mkfifo(path)


def test_the_jit_that_is_asked_for_and_is_not_there_is_named():
    code = "import sys; sys.modules['numba'] = None\nimport importlib.util\n"
    code += "from posable.compute import kernels\nkernels.find_spec = lambda name: None\n"
    code += "try: kernels.mode()\nexcept Exception as e: print(e)"
    assert run(code, POSABLE_KERNELS="jit").startswith("POSABLE_KERNELS is 'jit', kernels need Numba")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("where", ["cache", "out"])
def test_a_disk_that_is_full_or_read_only_is_one_sentence_and_leaves_nothing(where, tmp_path, monkeypatch, capsys):
    """As on a disk with no room left: whatever is written to the folder fails."""
    out, cache = tmp_path / "out", tmp_path / "cache"
    full = {"cache": cache / "objects", "out": out}[where]
    written = Path.write_bytes

    def refuse(path: Path, data: bytes) -> int:
        if full in path.parents:
            with Path("/dev/full").open("wb", buffering=0) as disk:
                return disk.write(data)
        return written(path, data)

    def compiled(name: str, *_: object) -> dict[str, object]:
        build.write_whole(cache / "objects" / f"{name}.o", b"code")
        raise AssertionError("written to a full disk")

    monkeypatch.setenv("POSABLE_CACHE", str(cache))
    monkeypatch.setattr(Path, "write_bytes", refuse)
    monkeypatch.setattr(build, "ProcessPoolExecutor", lambda *_: InThisProcess())
    if where == "cache":
        monkeypatch.setattr(build, "compile_batch", compiled)
    else:
        monkeypatch.setattr(build, "compile_batch", lambda *_: {"taken": True})
        monkeypatch.setattr(build, "_link", lambda *_: b"library")
        out.mkdir()
    monkeypatch.setattr(sys, "argv", ["build", "--out", str(out), "--quiet"])
    assert build.main() == 1
    printed = capsys.readouterr().err
    assert "no library was made: " in printed and "No space left" in printed and "Traceback" not in printed
    assert not [path for folder in (out, cache) for path in folder.rglob("*") if path.is_file()]


class InThisProcess:
    """An executor that runs jobs at once, here."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def shutdown(self, **_):
        return None

    def submit(self, function, *arguments):
        job = Future()
        try:
            job.set_result(function(*arguments))
        except Exception as error:
            job.set_exception(error)
        return job
