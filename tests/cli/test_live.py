"""`posable live`: what the specification types, over sockets on loopback and from files."""

import json
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import posable as ps

from ..live.conftest import Mailbox


@pytest.fixture
def box():
    made = Mailbox()
    yield made
    made.socket.close()


@pytest.fixture(scope="module")
def take(tmp_path_factory):
    file = tmp_path_factory.mktemp("live") / "take.bvh"
    ps.save(ps.samples.walk(duration=0.5), file)
    return file


def test_a_take_is_sent_recorded_and_replayed_byte_for_byte(posable, take, tmp_path, box):
    capture, out = tmp_path / "take.osc", f"vmc://127.0.0.1:{box.port}"
    code, text, err = posable("live", "--no-studio", "--in", take, "--out", out, "--record", capture)
    assert code == 0 and "bodies sent" in text, err
    first = box.read()
    code, text, err = posable("live", "--no-studio", "--in", capture, "--out", out)
    assert code == 0, err
    assert len(first) > 60 and box.read() == first


def test_facts_as_json(posable, take, tmp_path, box):
    report = tmp_path / "report.json"
    code, _, err = posable("live", "--in", take, "--out", f"vmc://127.0.0.1:{box.port}", "--json", report)
    assert code == 0, err
    facts = json.loads(report.read_text())
    assert facts["bodies"] > 5 and facts["latency_ms_50"] > 0
    assert {row["part"] for row in facts["points"]} == set(ps.MARKERS)
    assert facts["sinks"][0]["packets"] == len(box.read())


def test_trackers_of_a_socket_move_a_body(posable, box):
    """Listening at a port that the system chooses would not be known to the sender: one that was free a moment ago."""
    free = Mailbox()
    port = free.port
    free.socket.close()
    line = json.dumps({role: [0.0, 0.9, 0.0] for role in ps.MARKERS}).encode()
    stop = threading.Event()

    def send() -> None:
        import socket

        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        while not stop.is_set():
            made.sendto(line, ("127.0.0.1", port))
            time.sleep(0.02)
        made.close()

    thread = threading.Thread(target=send)
    thread.start()
    out = f"vmc://127.0.0.1:{box.port}"
    code, text, err = posable("live", "--in", f"udp://127.0.0.1:{port}", "--out", out, "--seconds", 0.8, "--rate", 30)
    stop.set()
    thread.join()
    assert code == 0 and f"udp at 127.0.0.1:{port}" in err, err
    assert int(text.split()[0]) > 10 and len(box.read()) > 20


def test_a_robot_follows_into_a_csv(posable, take, tmp_path):
    table = tmp_path / "angles.csv"
    robot = "examples/little_robot.xml"
    arguments = ("--robot", robot, "--look-at", "head", "--rate", 50, "--out", table)
    code, _, err = posable("live", "--no-studio", "--in", take, *arguments)
    assert code == 0, err
    rows = np.loadtxt(table, delimiter=",", skiprows=1)
    steps = np.diff(rows[:, 0])
    assert np.median(steps) == pytest.approx(0.02, abs=1e-4) and steps.min() > 0.0198


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--rate", 0), 2, "rate is 0"),
        (("--seconds", -1), 2, "--seconds -1"),
        (("--posture", "a,b"), 2, "--posture a,b"),
        (("--trackers", "tail=X"), 2, "tail"),
        (("--trackers", "hips"), 2, "PART=NAME"),
        (("--in", "nowhere.bvh"), 1, "nowhere.bvh: no such file"),
        (("--in", "tcp://x"), 1, "protocol"),
        (("--out", "fax"), 1, "is no output"),
        (("--body", "nowhere.vrm"), 1, "nowhere.vrm"),
        (("--calibration", "nowhere.json"), 1, "nowhere.json"),
        (("--out", "a.csv"), 1, "give the robot too"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(posable, arguments, code, message):
    got, _, err = posable("live", "--no-studio", *arguments)
    assert got == code and message in err and "Traceback" not in err, err


def test_ctrl_c_ends_it_with_its_sentence_and_its_capture(take, tmp_path):
    """A capture is there also when somebody stops it."""
    free = Mailbox()
    port = free.port
    free.socket.close()
    capture = tmp_path / "take.osc"
    command = [sys.executable, "-m", "posable", "live", "--no-studio", "--in", f"vmc://127.0.0.1:{port}"]
    command += ["--out", "vmc://127.0.0.1:39998", "--record", str(capture)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert "Ctrl-C" in _line(child)
        import signal

        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 0 and "0 bodies sent" in out and capture.exists()


def _line(child: subprocess.Popen) -> str:
    while True:
        line = child.stderr.readline()
        if not line or "Ctrl-C" in line:
            return line


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_that_ends_it_leaves_a_whole_capture_and_nothing_else(tmp_path, take, box, name):
    """However long it ran: what was recorded until then is there, and can be replayed."""
    command = [sys.executable, "-m", "posable", "live", "--no-studio", "--in", "vmc://127.0.0.1:0"]
    command += ["--out", f"vmc://127.0.0.1:{box.port}", "--record", "take.osc"]
    if signal.getsignal(getattr(signal, name)) == signal.SIG_IGN:
        pytest.skip(f"{name} is ignored here, as in the background of a shell, and so by whatever is started")
    child = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stderr is not None
        while "Ctrl-C ends it" not in child.stderr.readline():
            assert child.poll() is None
        child.send_signal(getattr(signal, name))
        out, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 0 and "bodies sent" in out and "Traceback" not in err
    assert [file.name for file in tmp_path.iterdir()] == ["take.osc"]
    assert ps.live.CaptureReader(tmp_path / "take.osc").head.sources == ["osc"]
