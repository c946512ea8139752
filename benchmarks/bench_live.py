"""From packet in to packets out: six trackers to a body of 55 bones over loopback, and the codec beside python-osc.

The loop and its sender take turns in one thread: a packet is sent, the loop is polled until its packets are read. So
the time has two ways through the system's sockets in it, and no thread that has to wake up. The histogram of the first
row is `docs/_static/live-latency.png`.
"""

from __future__ import annotations

import gc
import socket
import tempfile
import time
from pathlib import Path

import numpy as np

import posable as ps
from posable.live import Address, Live, LiveCalibration, Status, UdpSource, VmcWriter, bundle, decode, encode
from posable.live.calibrating import calibrated
from tests.live.models import write_vrm

from .harness import ROOT, Contender, Sheet, Table, compare

PICTURE = ROOT / "docs" / "_static" / "live-latency.png"
FRAMES = 6000


def run() -> list[Table | Sheet]:
    sheet = Sheet(
        "From packet in to packets out",
        note="All times in ms. Packets come back to back, each after the answer to the one before, as on a core that "
        "has nothing else to do; the loop alone counts from the packet being read to its packets being handed over.",
    )
    with tempfile.TemporaryDirectory() as folder:
        model = write_vrm(Path(folder) / "model.vrm", 1)
        for name, prior in (("with the prior", "default"), ("without", None)):
            whole, loop = _latencies(model, prior)
            if prior:
                _draw(whole)
            for kind, values in (("over sockets", whole), ("the loop alone", loop)):
                sheet.rows.append({"six trackers, 55 bones": f"{name}, {kind}"} | _row(values))
    return [sheet, _codec()]


def _row(values: np.ndarray) -> dict[str, str]:
    marks = {"50 %": 50, "90 %": 90, "99 %": 99, "99.9 %": 99.9}
    row = {name: f"{np.percentile(values, mark):.3f}" for name, mark in marks.items()}
    return row | {"longest": f"{values.max():.2f}", "under 1 ms": f"{100 * np.mean(values < 1.0):.2f} %"}


def _latencies(model: Path, prior: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Times [ms] over sockets and in the loop."""
    person = ps.figure(height=1.7)
    writer, motion = VmcWriter(person, trackers=True, bones=False), ps.samples.dance(person)
    poses = [writer.packets(person.skeleton.forward(pose), 0.0, Status()) for pose in motion]
    made = [bundle(_messages(packets)) for packets in poses]
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    receiver.bind(("127.0.0.1", 0))
    receiver.setblocking(False)
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    source = UdpSource(Address("vmc", "127.0.0.1", 0))
    target = f"vmc://127.0.0.1:{receiver.getsockname()[1]}"
    whole = []
    with Live(source, target, body=model, rate=1000, prior=prior, show=lambda _: None) as live:
        live.follower.calibrate(_calibration(live, made[0]))
        gc.collect()
        gc.freeze()
        for k in range(FRAMES + 200):
            time.sleep(0.002)
            while _drain(receiver):
                pass
            before = live.sent
            start = time.perf_counter()
            sender.sendto(made[k % len(made)], ("127.0.0.1", source.port))
            while live.sent == before:
                live.poll(0.05)
            while _drain(receiver):
                pass
            whole.append(time.perf_counter() - start)
        loop = live.report().latencies
        gc.unfreeze()
    receiver.close()
    sender.close()
    return 1e3 * np.array(whole[200:]), 1e3 * loop


def _messages(packets: list[bytes]) -> list[bytes]:
    """The trackers of some packets as messages, for one packet."""
    return [
        encode(one.address, *one.arguments) for packet in packets for one in decode(packet) if "/Pos" in one.address
    ]


def _calibration(live: Live, packet: bytes) -> LiveCalibration:
    """Somebody's who stood still: orientations count then, as they do for those who use them."""
    live.intake.osc(packet, "me", 0.0)
    return calibrated(live.body, [live.intake.board.present(0.0)] * 5)


def _drain(receiver: socket.socket) -> bytes | None:
    try:
        return receiver.recv(65536)
    except BlockingIOError:
        return None


def _draw(values: np.ndarray) -> None:
    """The histogram of the docs."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(7.0, 2.8), layout="constrained")
    axes = picture.subplots()
    axes.hist(values, bins=np.geomspace(0.05, 20.0, 90), color="#2e6880")
    axes.set_xscale("log")
    axes.set_xticks([0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10], ["0.1", "0.2", "0.3", "0.5", "1", "2", "5", "10"])
    for mark, height in ((50, 0.92), (99, 0.8)):
        at = float(np.percentile(values, mark))
        axes.axvline(at, color="#c8743c")
        axes.text(at * 1.03, axes.get_ylim()[1] * height, f"{mark} %: {at:.2f} ms", color="#c8743c")
    axes.set_xlabel("from packet in to packets out [ms]")
    axes.set_ylabel("bodies")
    axes.spines[["top", "right"]].set_visible(False)
    picture.savefig(PICTURE, dpi=120)


def _codec() -> Table:
    """Building and reading the packets of 22 bones, beside python-osc."""
    from pythonosc.osc_bundle import OscBundle
    from pythonosc.osc_bundle_builder import IMMEDIATELY, OscBundleBuilder
    from pythonosc.osc_message_builder import OscMessageBuilder

    from posable.live.vmc import Template

    names = list(ps.live.UNITY_NAMES.values())[:22]
    values = np.random.default_rng(0).normal(size=(22, 7))
    rows = values.tolist()
    template = Template([("/VMC/Ext/Bone/Pos", name) for name in names])
    whole = bundle([encode("/VMC/Ext/Bone/Pos", name, *row) for name, row in zip(names, rows)])

    def theirs() -> bytes:
        made = OscBundleBuilder(IMMEDIATELY)
        for name, row in zip(names, rows):
            message = OscMessageBuilder("/VMC/Ext/Bone/Pos")
            message.add_arg(name)
            for number in row:
                message.add_arg(number)
            made.add_content(message.build())
        return made.build().dgram

    return compare(
        "OSC packets of 22 bones",
        [
            Contender("python-osc builds", theirs),
            Contender("into a template", lambda: template.packets(values)),
            Contender("message by message", lambda: [encode("/VMC/Ext/Bone/Pos", n, *r) for n, r in zip(names, rows)]),
            Contender("python-osc reads", lambda: [message.params for message in OscBundle(whole)]),
            Contender("we read", lambda: decode(whole)),
        ],
    )
