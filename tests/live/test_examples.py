"""The programs of examples/live run, but for those that need hardware, which compile and say so."""

import ast
import importlib.util
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import posable as ps
from posable.live import Status, VmcWriter

from .conftest import Mailbox
from .models import write_vrm
from .test_landmarks import landmarks_of, write_csv

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "live"
HARDWARE = ("ros2_node", "servo_bus")


def program(name: str):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def ports():
    boxes = Mailbox(), Mailbox()
    boxes[0].socket.close()  # free a moment ago: the program listens there
    yield boxes[0].port, boxes[1]
    boxes[1].socket.close()


@pytest.fixture
def trackers(figure, walk, ports, send):
    """Six trackers by VMC at 50 Hz."""
    stop = threading.Event()
    writer = VmcWriter(figure, trackers=True, bones=False)
    made = [writer.packets(figure.skeleton.forward(pose), 0.0, Status()) for pose in walk]

    def run() -> None:
        k = 0
        while not stop.wait(0.02):
            for packet in made[k % len(made)]:
                send(ports[0], packet)
            k += 1

    thread = threading.Thread(target=run)
    thread.start()
    yield
    stop.set()
    thread.join()


def test_vtuber_and_vrchat(trackers, ports, tmp_path):
    model = write_vrm(tmp_path / "me.vrm", 1)
    port, box = ports
    assert program("vtuber").main(str(model), str(tmp_path / "c.json"), 0.6, port, box.port) > 3
    assert any(b"LeftIndexProximal" in packet for packet in box.read())
    time.sleep(0.05)
    assert program("vrchat").main(seconds=0.6, port_in=port, port_out=box.port) > 3
    assert any(b"/tracking/trackers/8/rotation" in packet for packet in box.read())


def test_mediapipe_to_an_avatar(figure, walk, ports, tmp_path):
    write_csv(tmp_path / "marks.csv", np.array([landmarks_of(figure, pose) for pose in walk[:20]]))
    model = write_vrm(tmp_path / "me.vrm", 0)
    program("mediapipe_to_avatar").main(str(model), str(tmp_path / "marks.csv"), ports[1].port, False)
    assert len(ports[1].read()) > 40


def test_a_social_robot(walk, ports):
    assert program("social_robot").main(walk, f"udp://127.0.0.1:{ports[1].port}", realtime=False) > 50
    assert len(ports[1].read()) > 50


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_a_program_is_short_and_says_what_was_not_run(path):
    source = path.read_text(encoding="utf-8")
    text = ast.get_docstring(ast.parse(source))
    assert len(source.splitlines()) < 60 and text
    assert ("not run in our tests" in text) == (path.stem in (*HARDWARE, "mediapipe_to_avatar"))
    assert not any(word in source for word in ("eval(", "pickle", "0.0.0.0"))


def test_the_servos_command_is_what_it_says():
    source = (FOLDER / "servo_bus.py").read_text(encoding="utf-8")
    tree = ast.parse(source)
    part = ast.Module([node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.Assign))][:2], [])
    names: dict = {"math": __import__("math")}
    exec(compile(part, "servo_bus", "exec"), names)
    assert names["line"]("neck_yaw", 0.0) == b"#1 P1500\r" and names["line"]("neck_pitch", np.pi / 2) == b"#2 P2500\r"
    assert ps.live is not None
