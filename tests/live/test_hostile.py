"""Nothing that a packet says ends the loop, slows it, or fills the memory."""

import gc
import itertools
import os
import random
import resource
import socket
import struct
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import posable as ps
from posable.live import Address, Live, UdpSource, bundle, decode, encode
from posable.live.board import FORGOTTEN, MOST, Board
from posable.live.capture import CaptureReader
from posable.live.notes import Notes
from posable.live.osc import OscError
from posable.live.senders import BUDGET, Senders
from posable.live.senders import MOST as MOST_SENDERS

from ..counts import rows
from .hostile_packets import packet, packets


def loop(body: ps.Humanoid) -> Live:
    sources = [UdpSource(Address(kind, "127.0.0.1", 0)) for kind in ("vmc", "udp")]
    return Live(sources, "vmc://127.0.0.1:39999", body=body, show=lambda _: None, rate=100)


def feed(live: Live, seed: int, count: int, start: float = 0.0) -> None:
    """Packets from many senders, and a body after every tenth; the sinks make their packets but send none."""
    draw = random.Random(seed)
    for k, content in enumerate(packets(seed, count)):
        now = start + 0.002 * k
        source = int(draw.random() < 0.2)
        sender = live.senders.admit((source, draw.randrange(200)), f"s{draw.randrange(200)}", now)
        if sender is not None:
            live.take_packet(source, live.sources[source].packets, content, sender, now)
        if k % 10 == 0:
            live.calibrate_step(now)
            frame = live.follower.step(live.intake.board, now)
            if frame is not None:
                made = live.sinks[0].packets(frame, live.sending(frame, now, None))
                assert all(len(one) <= 1200 for one in made)
                assert np.isfinite(frame.pose.rotations).all() and np.isfinite(frame.pose.translation).all()
        if k % 200 == 0:
            live.look_round(now)


def resident() -> int:
    """Bytes of memory that this process has; where the system does not say it, the most that it ever had."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def assert_bounded(live: Live) -> None:
    intake = live.intake
    assert len(intake.board.points) <= 64 and len(intake.expressions) <= 256 and len(intake._bones) <= 55
    assert len(intake.times) <= 64 and len(intake._world) <= 64 and len(intake.commands) <= 16
    assert len(intake.board.doubled) <= 64 and len(live.senders) <= 64 and len(live.notes._said) <= 200
    assert len(live.follower._solvers) <= 8 and len(live.follower._guessed) <= 64


def test_hostile_packets_raise_nothing_and_leave_bodies_whole(figure):
    live = loop(figure)
    feed(live, 0, rows(12000))
    assert_bounded(live)
    assert not [note for note in live.notes.recent if "could not be read" in note]


def test_hostile_packets_do_not_fill_the_memory(figure):
    live = loop(figure)
    feed(live, 1, rows(2000))
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    feed(live, 2, rows(2500), start=100.0)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 600_000, grown


def test_a_flood_neither_stops_the_loop_nor_starves_the_others(figure, mailbox, send):
    """A stranger sends as fast as can be, the trackers at 50 Hz: bodies go on at their rate."""
    stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    source = UdpSource(Address("vmc", "127.0.0.1", 0))
    rubbish = [packet(random.Random(k)) for k in range(50)]
    with Live(source, f"vmc://127.0.0.1:{mailbox.port}", body=figure, rate=50, show=lambda _: None) as live:
        for _ in range(60):
            for m, role in enumerate(ps.MARKERS):
                send(source.port, encode("/VMC/Ext/Tra/Pos", f"posable_{role}", 0.1 * m, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0))
            for one in rubbish:
                for _ in range(4):
                    stranger.sendto(one, ("127.0.0.1", source.port))
            begun = time.monotonic()
            while time.monotonic() - begun < 0.02:
                live.poll(0.005)
        assert live.sent > 40
        counts = {s.name: (s.packets, s.dropped) for s in live.report().senders}
        assert len(counts) == 2 and sum(dropped for _, dropped in counts.values()) > 1000
        good = max(live.report().senders, key=lambda sender: sender.packets if sender.dropped == 0 else 0)
        assert good.dropped == 0 and good.packets > 250
    stranger.close()


def test_bodies_go_out_between_packets_that_take_long_to_read(figure, send):
    """Strangers send packets of 64 kB, each thousands of messages."""
    strangers = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(4)]
    source = UdpSource(Address("vmc", "127.0.0.1", 0))
    large = [bundle([b"/a\0\0"] * 8000), bundle([encode("/VMC/Ext/Tra/Pos", f"x{k}", *[0.5] * 7) for k in range(800)])]
    with Live(source, (), body=figure, rate=50, show=lambda _: None) as live:
        live.start()
        for k in range(40):
            for m, role in enumerate(ps.MARKERS):
                send(source.port, encode("/VMC/Ext/Tra/Pos", f"posable_{role}", 0.1 * m, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0))
            for _ in range(6):
                for one in strangers:
                    one.sendto(large[k % 2], ("127.0.0.1", source.port))
            time.sleep(0.02)
        assert live.sent > 20
    for one in strangers:
        one.close()


def test_large_packets_count_as_many():
    """Reading 64 kB takes hundreds of times as long as reading a tracker."""
    senders = Senders()
    admitted = sum(senders.admit("a", "a", 0.0001 * k, 64_000) is not None for k in range(100))
    assert admitted <= 2
    assert senders.admit("a", "a", 0.02, 64_000) is not None  # one is always read


def test_a_packet_of_thousands_of_messages_is_none():
    """Each would have to be read before the next body."""
    with pytest.raises(OscError, match="more than 1024 messages"):
        decode(bundle([b"/a\0\0"] * 8000))
    with pytest.raises(OscError, match="arguments"):
        decode(b"/a\0\0," + b"N" * 60_002 + b"\0")
    assert len(decode(bundle([b"/a\0\0"] * 1000))) == 1000


def test_a_full_board_refuses_names_without_a_search_and_has_room_again():
    board = Board()
    for k in range(200):
        board.report(f"t{k}", "tracker", (0.0, 1.0, 0.0), None, "s", 0.01 * k)
    assert len(board.points) == MOST and board.refused == 200 - MOST
    assert board.report("late", "tracker", (0.0, 1.0, 0.0), None, "s", FORGOTTEN + 0.005) is not None
    assert "t0" not in board.points and len(board.points) == MOST


def test_a_senders_budget_is_its_own():
    senders = Senders()
    admitted = [senders.admit("a", "a", 0.0001 * k) is not None for k in range(3 * BUDGET)]
    assert BUDGET <= sum(admitted) <= 2 * BUDGET  # they lie in two windows at most
    assert senders.admit("b", "b", 0.001) is not None


def test_strangers_who_send_no_points_keep_nobody_out():
    senders, known = Senders(), set()
    for k in range(1000):
        now = 0.01 * k
        assert senders.admit(f"stranger {k}", "s", now) is not None
        if k % 100 == 50:  # somebody with trackers comes, and stays
            known.add(f"trackers {k}")
        for key in known:
            senders.admit(key, key, now).has_points = True
    assert len(senders) == MOST_SENDERS and known <= {sender.name for sender in senders}
    assert senders.strangers == 0 and len(senders._pointless) <= 2 * MOST_SENDERS


def test_too_many_who_send_points_are_said_and_one_that_stops_makes_room(figure):
    live = loop(figure)
    for k in range(300):
        now = 0.01 * k
        for other in range(MOST_SENDERS):
            if other == 7 and now > 1.0:
                continue  # this one has stopped
            sender = live.senders.admit(other, f"sender {other}", now)
            live.take_packet(0, "osc", encode("/VMC/Ext/Tra/Pos", f"t{other}", *[0.5] * 6, 1.0), sender, now)
        late = live.senders.admit("late", "late", now)
        assert abs(now - 2.0) < 0.05 or (late is not None) == (now > 2.0)
        if late is not None:
            late.has_points = True
        live.look_round(now)
    assert sum("64 senders send points already" in note for note in live.notes.recent) == 1


def test_one_kind_of_note_drowns_no_other():
    seen: list[str] = []
    notes = Notes(seen.append)
    for k in range(5000):
        notes.add(f"broken {k}", f"{k} sends rubbish")
    notes.add("port 7", "something else")
    assert len(seen) == 13 and seen[-1] == "something else" and "more of this kind" in seen[-2]
    for _ in range(50):  # what is forgotten each time is said each time
        notes.forget("calibrated")
        notes.add("calibrated", "done")
    assert seen.count("done") == 50


def test_captures_cut_short_and_scrambled_are_errors_in_words(figure, walk, tmp_path):
    good = tmp_path / "take.osc"
    with Live(walk[:20], (), body=figure, record=good) as live:
        live.run(realtime=False)
    content = good.read_bytes()
    draw = random.Random(0)
    broken = tmp_path / "broken.osc"
    for _ in range(rows(60)):
        changed = bytearray(content)
        for _ in range(draw.randrange(1, 5)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        broken.write_bytes(bytes(changed[: draw.randrange(len(changed) + 1)] if draw.random() < 0.5 else changed))
        try:
            with Live(broken, (), body=figure, show=lambda _: None) as live:
                live.run(realtime=False)
        except ps.PosableError as error:
            assert "broken.osc" in str(error)
    for text in (b"", b"\n", b"{}", b'{"format": "posable-capture/1", "sources": ["x"], "rate": 60}\n', b"\xff" * 99):
        broken.write_bytes(text)
        with pytest.raises(ps.FormatError):
            CaptureReader(broken)
    with pytest.raises(ps.FormatError, match="cannot be read"):
        CaptureReader(tmp_path / "none.osc")
    os.mkfifo(tmp_path / "pipe.osc")
    with pytest.raises(ps.FormatError, match="not a regular file"):
        CaptureReader(tmp_path / "pipe.osc")
    head = content[: content.index(b"\n") + 1]
    for record in (b"T\0" + struct.pack(">dI", 1e300, 1) + b"p", b"C\0" + struct.pack(">dI", 0.0, 28)):
        broken.write_bytes(head + record + b'{"do":"sender","number":-1} ')
        with pytest.raises(ps.FormatError), Live(broken, (), body=figure, show=lambda _: None) as live:
            live.run(realtime=False)


@pytest.mark.soak
def test_a_million_hostile_packets(figure, drawn):
    """Over real sockets, all of them read: no exception out of the loop, no growth, and those who track still can."""
    count, draw = drawn(1_000_000, least=20_000), random.Random(5)
    sources = [UdpSource(Address(kind, "127.0.0.1", 0)) for kind in ("vmc", "udp")]
    strangers = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(30)]
    with Live(sources, "vmc://127.0.0.1:39999", body=figure, show=lambda _: None, rate=100) as live:
        ports = [("127.0.0.1", source.port) for source in sources]
        taken, memory = [0], 0
        take = live.take_packet

        def counting(*given) -> bool:
            taken[0] += 1
            return take(*given)

        live.take_packet = counting
        content = packets(3, count)
        for k in range(count // 40):
            for one in itertools.islice(content, 40):
                draw.choice(strangers).sendto(one, ports[draw.random() < 0.1])
            for _ in range(1000):
                live.poll(0.001)
                if taken[0] >= 40 * (k + 1):
                    break
            assert taken[0] == 40 * (k + 1)  # none was dropped unread
            if k % 500 == 0:
                assert_bounded(live)
                assert live.frame is None or np.isfinite(live.frame.pose.rotations).all()
            if k == count // 80:
                gc.collect()
                memory = resident()
        gc.collect()
        assert resident() - memory < 10e6
        assert not [note for note in live.notes.recent if "could not be" in note]
        assert live.sent > 0
    for one in strangers:
        one.close()


@pytest.mark.soak
def test_an_hour_at_100_hz(figure, walk, mailbox, send, drawn):
    """Over real sockets, a sender with a clock of its own: no growth of memory, no drift, the rate within 1 %."""
    from posable.live import Status, VmcWriter

    writer = VmcWriter(figure, trackers=True, bones=False)
    made = [writer.packets(figure.skeleton.forward(pose), 0.0, Status()) for pose in walk]
    source = UdpSource(Address("vmc", "127.0.0.1", 0))
    seconds = drawn(3600, least=20)
    with Live(source, f"vmc://127.0.0.1:{mailbox.port}", body=figure, rate=100, show=lambda _: None) as live:
        live.start()
        begun, received, first, memory = time.monotonic(), 0, None, 0
        times: list[float] = []
        for k in range(seconds * 100):
            for one in made[k % len(made)]:
                send(source.port, one)
            for one in mailbox.read():
                if b"/VMC/Ext/T\0" in one:
                    received += 1
                    first = time.monotonic() if first is None else first
                    if received % 500 == 0:
                        (at,) = np.frombuffer(one[one.index(b"/VMC/Ext/T\0") + 16 :][:4], ">f4")
                        times.append(time.monotonic() - float(at))
            if k == 1000:
                memory = resident()
            time.sleep(max(0.0, begun + (k + 1) / 100 - time.monotonic()))
        found = {
            "rate": received / (time.monotonic() - first),
            "drift": abs(float(np.median(times[-10:]) - np.median(times[:10]))),
            "spread": max(times) - min(times),
            "growth": resident() - memory,
            "broken": sum(sender.broken for sender in live.report().senders),
            "load": os.getloadavg()[0],
        }
        print(found)
        assert abs(found["rate"] - 100) < 1.0, found
        assert found["drift"] < 0.02 and found["spread"] < 0.1, found  # what it says of the time stays with ours
        assert found["growth"] < 20e6 and found["broken"] == 0, found
