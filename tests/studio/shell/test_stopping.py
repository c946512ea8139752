"""Long work is asked to stop, and the studio ends soon, whatever it is doing."""

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from posable import math as pm
from posable.compute import StoppedError, check_stop, stoppable
from posable.studio import Studio
from posable.studio.core.worker import Worker

from .conftest import chain_motion

SOON = 15.0  # [s]: closing takes two at most; a busy machine has some more, what is guarded against takes minutes


class TestStoppable:
    def test_work_ends_between_two_blocks_once_it_is_asked_to(self):
        rows = np.tile([1.0, 0.0, 0.0, 0.0], (20_000, 1))
        stop, calls = threading.Event(), 0
        with pytest.raises(StoppedError), stoppable(stop):
            while True:
                pm.multiply(rows, rows)
                calls += 1
                if calls == 3:
                    stop.set()
                assert calls <= 3
        np.testing.assert_array_equal(pm.multiply(rows, rows), rows)  # and outside nothing is asked to

    def test_a_block_of_many_rows_gives_the_same_answer(self):
        rng = np.random.default_rng(3)
        a, b = (pm.normalize(rng.normal(size=(50_000, 4))) for _ in range(2))
        with stoppable(threading.Event()):
            np.testing.assert_array_equal(pm.multiply(a, b), pm.multiply(a, b))
            inside = pm.multiply(a, b)
        np.testing.assert_array_equal(inside, pm.multiply(a, b))

    def test_the_work_of_another_thread_goes_on(self):
        stop = threading.Event()
        stop.set()
        found: list[object] = []
        with stoppable(stop):
            other = threading.Thread(target=lambda: found.append(pm.multiply([1.0, 0, 0, 0], [1.0, 0, 0, 0])))
            other.start()
            other.join()
            with pytest.raises(StoppedError):
                check_stop()
        assert len(found) == 1
        check_stop()

    def test_nobody_takes_it_for_a_failure_of_the_work(self):
        assert not issubclass(StoppedError, Exception)


class Busy(Worker[str, str]):
    """Works until it is stopped, or for a minute."""

    def __init__(self, session) -> None:
        super().__init__(session, "busy")
        self.delivered: list[object] = []
        self.begun = threading.Event()

    def compute(self, request: str) -> str:
        self.begun.set()
        if request == "deaf":
            time.sleep(60.0)
        end = time.monotonic() + 60.0
        while time.monotonic() < end:
            check_stop()
            time.sleep(0.01)
        return request

    def deliver(self, request: str, result: object) -> None:
        self.delivered.append(result)


@pytest.mark.parametrize("request_", ["stops", "deaf"])
def test_closing_stops_what_can_be_stopped_and_does_not_wait_for_the_rest(request_: str):
    workers: list[Busy] = []

    class BusyTab:
        title = "Busy"

        def build(self, session) -> None:
            workers.append(Busy(session))

        def update(self, time: float) -> None:
            pass

        def leave(self) -> None:
            pass

        def close(self) -> None:
            workers[0].close()

    studio = Studio(chain_motion(), port=0, open_browser=False, tabs=[BusyTab]).start()
    workers[0].submit(request_)
    assert workers[0].begun.wait(30.0)
    if request_ == "stops":  # and something that a user asked for, which holds what everybody needs
        held = threading.Event()

        def hold(_: object) -> None:
            with studio.session.lock:
                held.set()
                while True:
                    check_stop()
                    time.sleep(0.01)

        threading.Thread(target=studio.session.guarded(hold), args=(object(),), daemon=True).start()
        assert held.wait(30.0)
    start = time.monotonic()
    studio.close()
    assert time.monotonic() - start < SOON
    assert workers[0].delivered == []
    workers[0].submit("after the end")
    assert workers[0]._pending is None, "nothing is begun any more"
    if request_ == "stops":
        assert not workers[0].running


# A shell starts what it runs in the background with interrupts ignored, and its children inherit that.
HEARD = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
WORKING = """
import threading, time
import numpy as np
import posable as ps
from posable.studio import Studio

body = ps.figure()
walk = ps.samples.walk(body)
long = walk.replace(pose=walk.pose[np.arange(50_000) % len(walk)])
studio = Studio(long, port=0, open_browser=False)

def work():
    while studio._thread is None:
        time.sleep(0.05)
    studio.session.edits.request(fit=True)
    time.sleep(1.0)
    print("working" if studio.session.edits.running else "idle", flush=True)

threading.Thread(target=work, daemon=True).start()
studio.run()
"""
DEAF = """
import sys, threading, time
sys.argv = ["posable", "studio", "--no-browser", "--port", "0"]
threading.Thread(target=time.sleep, args=(120.0,)).start()
from posable.cli import main
main()
"""


@pytest.mark.parametrize(("program", "ready"), [(WORKING, "working"), (DEAF, "http://127.0.0.1:")])
def test_control_c_ends_it_soon_and_without_a_traceback(program: str, ready: str):
    """While it works on 50,000 frames; and on the command line with a thread that cannot be stopped."""
    command = [sys.executable, "-c", HEARD + program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert any(ready in line for line in iter(process.stdout.readline, ""))
            start = time.monotonic()
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert time.monotonic() - start < SOON
    assert process.returncode == 0
    assert "Traceback" not in errors
