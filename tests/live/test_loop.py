"""The loop, over real sockets on loopback and in virtual time: bodies follow points, and a capture replays."""

import errno
import math
import socket
import time
from itertools import pairwise

import numpy as np
import pytest

import posable as ps
from posable.live import (
    Address,
    ChainDriver,
    FramesSource,
    IterableSource,
    Live,
    Status,
    UdpSource,
    VmcWriter,
    encode,
    run,
)
from posable.live.addresses import IN_PORTS, parse
from posable.live.capture import PACKET, SENT, CaptureReader, CaptureWriter
from posable.live.sinks import VmcSink

from .models import write_vrm
from .receiver import Renderer, messages

LOOPBACK = "127.0.0.1"


def vmc_in() -> UdpSource:
    return UdpSource(Address("vmc", LOOPBACK, 0))


def tracker_packets(body: ps.Humanoid, motion: ps.Motion) -> list[list[bytes]]:
    """As six trackers whose names say what they are on."""
    writer = VmcWriter(body, trackers=True, bones=False)
    return [writer.packets(body.skeleton.forward(pose), k / motion.fps, Status()) for k, pose in enumerate(motion)]


def test_a_body_is_sent_with_the_packet_and_meets_its_points(tmp_path, figure, walk, mailbox, send):
    """Received by a renderer that was written from the protocol's text."""
    path = write_vrm(tmp_path / "me.vrm", 1)
    with Live(vmc_in(), f"vmc://{LOOPBACK}:{mailbox.port}", body=path, rate=100, lock_feet=False) as live:
        renderer = Renderer(path)
        for packets in tracker_packets(figure, walk)[:20]:
            for packet in packets:
                send(live.sources[0].port, packet)
            before = live.sent
            for _ in range(50):
                live.poll(0.05)
                if live.sent > before:
                    break
            time.sleep(0.012)
        got = mailbox.read()
        assert live.sent >= 20 and got
        for packet in got:
            renderer.receive(packet)
        body, frame = live.body, live.frame
        world = renderer.world()
        joints = [j for j, name in enumerate(body.skeleton.names) if not name.startswith("between") and name != "Scene"]
        shown = np.array([world[renderer.names.index(name)][:3, 3] for name in body.skeleton.names])
        np.testing.assert_allclose(shown[joints], frame.frames.positions[joints], atol=1e-5)
        assert frame.errors[frame.roles.index("hips")] < 0.01
        report = live.report()
        assert {point.part for point in report.points} == set(ps.MARKERS)
        assert len(report.latencies) and report.senders[0].broken == 0


def played(source, body, tmp_path, name: str, **options) -> tuple[list[bytes], Live]:
    """All packets that a loop sends by VMC, without a socket."""
    sent: list[bytes] = []

    class Tape(VmcSink):
        def open(self) -> None:
            pass

        def write(self, packets) -> str:
            sent.extend(packets)
            return ""

        @property
        def own_port(self) -> int:
            return 0

    live = Live(source, Tape(Address("vmc", LOOPBACK, 39539), body), body=body, show=lambda _: None, **options)
    with live:
        live.run(realtime=False)
    return sent, live


def test_a_capture_of_a_file_replays_to_the_same_bytes(figure, walk, tmp_path):
    capture = tmp_path / "take.osc"
    sent, _ = played(walk, figure, tmp_path, "a", record=capture, smoothing=0.02)
    again, _ = played(str(capture), figure, tmp_path, "b", smoothing=0.02)
    third, _ = played(str(capture), figure, tmp_path, "c", smoothing=0.02, record=tmp_path / "copy.osc")
    assert len(sent) > 100 and sent == again == third
    kinds = [record.kind for record in CaptureReader(capture)]
    assert kinds.count(PACKET) == len(walk) and kinds.count(SENT) >= len(walk) - 1
    assert (tmp_path / "copy.osc").read_bytes() == capture.read_bytes()


def test_a_capture_of_sockets_replays_to_the_same_bytes(figure, walk, tmp_path, mailbox, send):
    capture = tmp_path / "take.osc"
    sink = f"vmc://{LOOPBACK}:{mailbox.port}"
    with Live(vmc_in(), sink, body=figure, rate=100, record=capture) as live:
        for packets in tracker_packets(figure, walk)[:30]:
            for packet in packets:
                send(live.sources[0].port, packet)
            live.poll(0.01)
            live.poll(0.004)
        live.calibrate()
        live.poll(0.0)
    first = mailbox.read()
    with Live(str(capture), sink, body=figure) as live:
        live.run(realtime=False)
    assert len(first) > 20 and mailbox.read() == first


class Keeper:
    """A sink that keeps the joints of every body."""

    name = "keeper"

    def __init__(self) -> None:
        self.kept: list[bytes] = []

    def open(self) -> None:
        pass

    def packets(self, frame, sending):
        return [] if frame is None else [frame.frames.positions.tobytes() + frame.frames.orientations.tobytes()]

    def write(self, packets) -> str:
        self.kept += packets
        return ""

    def close(self) -> None:
        pass


def test_a_capture_of_two_senders_replays_to_the_same_bodies(figure, walk, tmp_path):
    """Two programs send the same points, and together more packets than one alone may."""
    senders = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
    first, again = Keeper(), Keeper()
    with Live(vmc_in(), first, body=figure, rate=100, record=tmp_path / "two.osc", show=lambda _: None) as live:
        for k, packets in enumerate(tracker_packets(figure, walk)[:20]):
            for one in senders:
                for packet in [encode("/VMC/Ext/T", float(k))] * 40 + list(packets):
                    one.sendto(packet, (LOOPBACK, live.sources[0].port))
            noted(live, 0.02)
    with Live(str(tmp_path / "two.osc"), again, body=figure, show=lambda _: None) as replay:
        replay.run(realtime=False)
    for one in senders:
        one.close()
    assert len(first.kept) > 15 and again.kept == first.kept
    assert [s.packets for s in replay.senders] == [s.packets for s in live.senders]


def test_frames_with_numbers_that_are_none_replay_to_the_same_bodies(figure, tmp_path):
    """Arrays, and what JSON has no number for."""
    nan = math.nan
    frames = [
        (0.03 * k, {"hips": np.array([0.01 * k, 1.0, 0.0]), "head": [nan if k % 4 == 1 else 0.0, 1.6, 0.0]})
        for k in range(20)
    ]
    frames += [(0.6 + 0.03 * k, {"hips": [0.0, 1.0, 0.0, 1.0, nan if k % 2 else 0.0, 0.0, 0.0]}) for k in range(20)]
    first, again = Keeper(), Keeper()
    with Live(FramesSource(frames), first, body=figure, record=tmp_path / "nan.osc", show=lambda _: None) as live:
        live.run(realtime=False)
    with Live(str(tmp_path / "nan.osc"), again, body=figure, show=lambda _: None) as replay:
        replay.run(realtime=False)
    assert len(first.kept) > 30 and again.kept == first.kept


def test_what_cannot_begin_leaves_files_as_they_were(figure, walk, tmp_path):
    """A receiver that is nowhere is found out after the files were opened."""
    robot = ChainDriver(ps.Chain.from_axes("YX", lengths=[0.1, 0.1]))
    angles = tmp_path / "angles.csv"
    angles.write_text("yesterday")
    with pytest.raises(ps.PosableError, match="cannot send to"):
        run(walk, [str(angles), "vmc://no.such.host.invalid"], body=figure, robot=robot)
    assert angles.read_text() == "yesterday" and list(tmp_path.iterdir()) == [angles]


def test_a_disk_that_is_full_ends_the_capture_and_not_the_loop(figure, walk, tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(CaptureWriter, "write", full)
    notes: list[str] = []
    with Live(walk[:20], (), body=figure, record=tmp_path / "a.osc", show=notes.append) as live:
        live.run(realtime=False)
    assert live.sent > 15 and sum("the capture is given up: No space left" in note for note in notes) == 1
    assert not list(tmp_path.iterdir())


def test_the_body_of_a_take_is_the_body_of_the_take(figure, walk, tmp_path):
    """Its own points, all six met, at the rate of the take."""
    frames = []

    class Keep:
        name = "keep"

        def open(self) -> None: ...
        def packets(self, frame, sending):
            frames.append((sending.seconds, frame))
            return []

        def write(self, packets):
            return ""

        def close(self) -> None: ...

    with Live(walk, Keep(), body=figure, lock_feet=False, floor=0.0) as live:
        live.run(realtime=False)
    assert len(frames) == len(walk)
    for (_, frame), pose in zip(frames, walk):
        true = figure.markers(pose)
        np.testing.assert_allclose(figure.markers(frame.pose), true, atol=2e-3)
        assert frame.errors.max() < 2e-3
    np.testing.assert_allclose(np.diff([seconds for seconds, _ in frames]), 1 / walk.fps, atol=1e-9)


def test_packets_that_come_in_pieces_make_one_body(figure, walk, mailbox, send):
    """Six packets, a tracker each: the body waits for the rest, a millisecond at most."""
    with Live(vmc_in(), f"vmc://{LOOPBACK}:{mailbox.port}", body=figure, rate=100) as live:
        port = live.sources[0].port
        for packets in tracker_packets(figure, walk)[:12]:
            before, begun = live.sent, time.monotonic()
            for packet in packets:
                for message in messages(packet):
                    send(port, message.dgram)
            for _ in range(20):
                live.poll(0.005)
            by_the_clock = 100 * (time.monotonic() - begun)  # however long the machine took
            assert live.sent - before <= by_the_clock + 2  # six packets are not six bodies
        assert not np.isinf(live.frame.errors).any()


def test_a_lost_point_is_bridged_and_all_lost_leaves_the_body_as_it_was(figure):
    body = figure
    line = {role: point.tolist() for role, point in zip(ps.MARKERS, body.markers(body.neutral_pose))}
    frames = [(k / 60, dict(line)) for k in range(60)]
    for _, frame in frames[20:40]:
        frame["left_hand"] = None
    frames += [(1.0 + k / 60, {"hips": None, "head": None} | dict.fromkeys(ps.MARKERS)) for k in range(60)]
    seen = []

    class Keep:
        name = "keep"

        def open(self) -> None: ...
        def packets(self, frame, sending):
            seen.append((frame, sending.status.tracking))
            return []

        def write(self, packets):
            return ""

        def close(self) -> None: ...

    from posable.live.sources import FramesSource

    with Live(FramesSource(frames), Keep(), body=body) as live:
        live.run(realtime=False)
    hands = np.array([figure.markers(frame.pose)[2] for frame, _ in seen])
    # A hand that nobody sees goes to where people have it, a hand's width ahead of the neutral pose, and in no leap.
    assert np.abs(hands[20:40] - hands[19]).max() < 0.08
    assert np.linalg.norm(np.diff(hands[:60], axis=0), axis=-1).max() < 0.01
    assert all(np.isfinite(frame.pose.rotations).all() for frame, _ in seen)
    assert [tracking for _, tracking in seen[:60]] == [True] * 60 and not seen[-1][1]
    np.testing.assert_array_equal(seen[-1][0].pose.rotations, seen[-20][0].pose.rotations)


def test_expressions_are_passed_through(figure, mailbox, send):
    line = b'{"hips": [0, 0.95, 0], "head": [0, 1.6, 0]}\n'
    json_in = UdpSource(Address("udp", LOOPBACK, 0))
    with Live([vmc_in(), json_in], f"vmc://{LOOPBACK}:{mailbox.port}", body=figure) as live:
        send(live.sources[0].port, encode("/VMC/Ext/Blend/Val", "Joy", 0.75))
        send(live.sources[0].port, encode("/VMC/Ext/Blend/Apply"))
        live.poll(0.1)
        send(live.sources[1].port, line)
        for _ in range(20):
            live.poll(0.01)
    read = [message for packet in mailbox.read() for message in messages(packet)]
    shapes = [message.params for message in read if message.address == "/VMC/Ext/Blend/Val"]
    assert shapes == [["Joy", 0.75]]
    assert [message.address for message in read].count("/VMC/Ext/Blend/Apply") == 1


def test_an_iterable_of_landmarks_is_a_source(figure):
    from .test_landmarks import landmarks_of

    marks = landmarks_of(figure, figure.neutral_pose)

    def camera():
        for _ in range(12):
            time.sleep(0.01)
            yield marks

    with Live(IterableSource(camera()), sinks=(), body=figure) as live:
        live.run(5.0)
        assert live.sent >= 3
        low = live.frame.frames.positions[[figure.index("left_foot"), figure.index("right_foot")], 1].min()
    assert low == pytest.approx(figure.markers(figure.neutral_pose)[4:, 1].min(), abs=0.02)  # it stands on the floor


def test_an_iterable_that_fails_is_said(figure):
    def camera():
        yield {"hips": [0, 0.9, 0]}
        raise OSError("unplugged")

    for _ in range(20):  # at whichever moment it fails
        notes: list[str] = []
        with Live(camera(), sinks=(), body=figure, show=notes.append) as live:
            live.run(1.0)
        assert any("unplugged" in note for note in notes)


# What goes wrong is said once, and the loop goes on


def broken_csv(folder, walk, figure) -> str:
    """Landmarks in a file that breaks in its thirtieth line."""
    from .test_landmarks import landmarks_of

    rows = [",".join(f"{x:.5f}" for x in np.ravel(landmarks_of(figure, pose)[:, :3])) for pose in walk[:60]]
    rows[30] = rows[30].replace(".", "x", 1)
    file = folder / "landmarks.csv"
    file.write_text("\n".join(rows))
    return str(file)


@pytest.mark.parametrize("realtime", [True, False])
def test_a_file_that_breaks_in_the_middle_is_said_and_the_others_go_on(figure, walk, tmp_path, realtime):
    frames = [(0.1 * k, {"hips": [0, 0.9, 0], "head": [0, 1.6, 0]}) for k in range(20)]
    notes: list[str] = []
    sources = [broken_csv(tmp_path, walk, figure), FramesSource(frames, "others")]
    with Live(sources, (), body=figure, show=notes.append) as live:
        live.run(realtime=realtime)
        assert live.points()[0].time == pytest.approx(1.9, abs=0.1)
    assert sum("line 31" in note and "go on" in note for note in notes) == 1


def test_a_file_that_breaks_with_nothing_beside_it_is_raised_after_what_came_before(figure, walk, tmp_path):
    keeper = Keeper()
    with (
        pytest.raises(ps.FormatError, match="line 31"),
        Live(broken_csv(tmp_path, walk, figure), keeper, body=figure) as live,
    ):
        live.run(realtime=False)
    assert live.sent >= 29 and len(keeper.kept) >= 29
    (tmp_path / "landmarks.csv").write_text("1,2,3\n")
    (tmp_path / "old.osc").write_text("yesterday")
    with (
        pytest.raises(ps.FormatError),
        Live(tmp_path / "landmarks.csv", (), body=figure, record=tmp_path / "old.osc") as live,
    ):
        live.run(realtime=False)
    assert (tmp_path / "old.osc").read_text() == "yesterday" and len(list(tmp_path.iterdir())) == 2


def test_an_iterable_of_frames_that_fails_is_named(figure):
    def frames():
        yield 0.0, {"hips": [0, 0.9, 0], "head": [0, 1.6, 0]}
        raise OSError("unplugged")

    with pytest.raises(ps.PosableError, match="glove failed: OSError: unplugged"):
        run(FramesSource(frames(), "glove"), (), body=figure, realtime=False)


def noted(live: Live, seconds: float = 0.15) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        live.poll(0.02)


def test_a_port_in_use_is_named_with_a_way_out(mailbox):
    with pytest.raises(ps.PosableError, match=f"port {mailbox.port} is in use.*listen at another port"):
        Live(f"vmc://{LOOPBACK}:{mailbox.port}", sinks=()).open()


def test_a_name_is_not_this_machine_by_how_it_begins():
    for text, private in (("127.0.0.1", True), ("127.8.8.8", True), ("localhost", True), ("[::1]", True)):
        assert parse(f"vmc://{text}", IN_PORTS).is_private is private
    for text in ("127.0.0.1.example.org", "127.example.org", "192.0.2.1", "[::]", "0.0.0.0"):
        assert not parse(f"vmc://{text}", IN_PORTS).is_private


def test_the_way_out_of_a_port_is_one_that_there_is(monkeypatch):
    """The last port has none after it, and of those of the system others are theirs too."""

    for port, reason, expected in ((65535, errno.EADDRINUSE, "65534"), (80, errno.EACCES, "39540")):

        def bind(*_: object, reason: int = reason) -> None:
            raise OSError(reason, "no")

        monkeypatch.setattr(socket.socket, "bind", bind)
        with pytest.raises(ps.PosableError, match=f"port {port} is .*: vmc://127.0.0.1:{expected}$"):
            UdpSource(Address("vmc", LOOPBACK, port)).open()


def test_other_protocols_are_said_once(figure, send):
    notes: list[str] = []
    with Live([vmc_in(), UdpSource(Address("udp", LOOPBACK, 0))], (), body=figure, show=notes.append) as live:
        for _ in range(5):
            send(live.sources[0].port, b"GET / HTTP/1.1\r\n\r\n")
            send(live.sources[1].port, b"hello")
            noted(live, 0.02)
        assert sum("no OSC" in note for note in notes) == 1
        assert sum("no JSON lines" in note for note in notes) == 1
        assert [sender.broken for sender in live.report().senders] == [5, 5]


def test_two_senders_for_one_point_and_time_that_runs_backwards(figure, send):
    notes: list[str] = []
    other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with Live(vmc_in(), (), body=figure, show=notes.append) as live:
        port = live.sources[0].port
        for k in range(60):
            packet = encode("/VMC/Ext/Tra/Pos", "hips", 0.1, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0)
            send(port, packet)
            other.sendto(packet, (LOOPBACK, port))
            send(port, encode("/VMC/Ext/T", 100.0 - k))
            live.poll(0.01)
            time.sleep(0.01)
        assert live.sent > 0
    other.close()
    assert sum("both send 'hips'" in note for note in notes) == 1
    assert sum("ran backwards" in note for note in notes) == 1


def test_a_sender_that_stops_is_said_and_the_body_goes_on(figure, walk, mailbox, send):
    notes: list[str] = []
    with Live(vmc_in(), f"vmc://{LOOPBACK}:{mailbox.port}", body=figure, show=notes.append, rate=50) as live:
        for packets in tracker_packets(figure, walk)[:5]:
            for packet in packets:
                send(live.sources[0].port, packet)
            live.poll(0.02)
        end = time.monotonic() + 20
        while time.monotonic() < end and not any("sends nothing any more" in note for note in notes):
            live.poll(0.02)
        noted(live, 0.3)
        assert sum("sends nothing any more" in note for note in notes) == 1
        tracking = [m.params[3] for p in mailbox.read() for m in messages(p) if m.address == "/VMC/Ext/OK"]
        assert tracking[0] == 1 and tracking[-5:] == [0] * 5 and len(tracking) > 20  # how many the machine allows


def test_leaving_this_machine_is_said(figure, monkeypatch):
    notes: list[str] = []
    with Live(UdpSource(Address("vmc", "0.0.0.0", 0)), (), body=figure, show=notes.append):
        pass
    assert notes == ["vmc listens at 0.0.0.0: other machines can send to it"]
    with Live("vmc://:0", "vmc://192.0.2.1:39539", body=figure, show=notes.append):
        pass  # opened only: nothing is sent
    assert any("bodies leave this machine" in note for note in notes)


def test_what_it_sends_to_itself_it_passes_over(figure, send):
    notes: list[str] = []
    source = vmc_in()
    source.open()
    port = source.port
    source.close()
    with Live(f"vmc://{LOOPBACK}:{port}", f"vmc-trackers://{LOOPBACK}:{port}", body=figure, show=notes.append) as live:
        send(port, encode("/VMC/Ext/Tra/Pos", "hips", 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0))
        noted(live, 0.3)
        assert live.sent > 5 and len(live.report().senders) == 1
    assert any("listens itself" in note for note in notes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Live("smb"), "no such file"),
        (lambda: Live("tcp://x"), "protocol"),
        (lambda: Live("vmc://x:y"), "port is 'y'"),
        (lambda: Live("vmc", "fax"), "is no output"),
        (lambda: Live("vmc", "a.csv"), "give the robot too"),
        (lambda: Live([], "vmc"), "no source"),
        (lambda: Live("vmc", rate=0), "rate is 0"),
        (lambda: Live("vmc", rate=float("nan")), "rate is nan"),
        (lambda: Live("vmc", body="nowhere.vrm"), "nowhere.vrm"),
        (lambda: run("vmc://no.such.host.invalid:1", ()), "cannot listen"),
        (lambda: Live("vmc", "vmc://127.0.0.1:0"), "port is 0"),
        (lambda: Live("vmc://::1"), r"brackets.*vmc://\[::1\]:39540"),
        (lambda: Live("vmc", floor=float("nan")), "floor is nan"),
        (lambda: Live("vmc", height=-1.0), "height is -1"),
        (lambda: Live("vmc", stand=float("inf")), "stand is inf"),
    ],
)
def test_what_cannot_be_is_named(call, message):
    with pytest.raises(ps.PosableError, match=message):
        call()


def test_a_model_without_a_persons_bones_is_refused_in_words(data_dir):
    with pytest.raises(ps.PosableError, match=r"Fox\.glb: has no person's bones"):
        Live("vmc", body=data_dir / "characters" / "Fox.glb")


# The clock


def test_bodies_are_sent_at_the_rate_and_with_the_packets():
    """Packets with jitter at the rate: each sends at once. Then none: the clock goes on, half a period late."""
    from posable.live.pace import SendingPace

    draw = np.random.default_rng(0)
    pace, sent, with_packet = SendingPace(100.0), [], 0
    arrivals = sorted(0.01 * k + draw.uniform(-0.001, 0.001) for k in range(2000))
    for now in arrivals:
        while pace.deadline() < now:
            sent.append(pace.deadline())
            pace.sent(pace.deadline(), False)
        if pace.wants(now):
            pace.sent(now, True)
            sent.append(now)
            with_packet += 1
    assert with_packet == 2000 and len(sent) == 2000
    for _ in range(1000):
        now = pace.deadline()
        pace.sent(now, False)
        sent.append(now)
    steps = np.diff(sent[2100:])
    np.testing.assert_allclose(steps, 0.01, atol=1e-9)  # an even grid, without drift


@pytest.mark.parametrize("rate", [24.0, 30.0, 59.94, 60.0, 72.0, 90.0, 120.0, 240.0, 1000.0])
def test_never_more_bodies_than_the_rate_and_none_missing_whatever_comes(rate):
    from posable.live.pace import SendingPace

    draw = np.random.default_rng(1)
    pace, sent = SendingPace(60.0), []
    for now in sorted(k / rate + draw.uniform(0, 0.2 / rate) for k in range(int(60 * rate))):
        while pace.deadline() < now:
            sent.append(pace.deadline())
            pace.sent(pace.deadline(), False)
        if pace.wants(now):
            pace.sent(now, True)
            sent.append(now)
    assert 40 * 60 < len(sent) <= 60 * 60 + 2
    assert max(b - a for a, b in pairwise(sent)) <= 1.91 / 60.0


@pytest.mark.parametrize("late", [0.0, 0.001, 0.002, 0.004, 0.008])
@pytest.mark.parametrize("rate", [59.94, 60.0, 61.0, 72.0, 120.0])
def test_a_busy_machine_takes_no_bodies_away(rate, late):
    """Packets and the clock come late by chance, by so many seconds in the mean: the rate stays, to half a per cent."""
    from posable.live.pace import SendingPace

    draw = np.random.default_rng(2)
    pace, sent, seconds = SendingPace(60.0), [], 60
    for now in np.sort([k / rate + draw.exponential(late) for k in range(int(seconds * rate))]):
        while pace.deadline() < now:
            clock = pace.deadline() + draw.exponential(late)
            if clock >= now:
                break
            pace.sent(clock, False)
            sent.append(clock)
        if pace.wants(now):
            pace.sent(now, True)
            sent.append(now)
    assert len(sent) == pytest.approx(60 * seconds, rel=0.005)
    for first in range(0, len(sent) - 600, 100):  # nor more, over any ten seconds
        assert sent[first + 600] - sent[first] > 10.0 - 5.5 / 60.0


def test_points_are_extrapolated_to_the_moment_of_sending_and_not_further():
    from posable.live.board import AHEAD, LOST, Board

    board = Board()
    for k in range(20):
        angle = 0.1 * k
        rotation = (np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0)
        board.report("a", "tracker", (0.02 * k, 1.0, -0.01 * k), rotation, "me", 0.01 * k)
    point = board.points["a"]
    position, rotation = point.at(0.19 + 0.02)
    np.testing.assert_allclose(position, (0.42, 1.0, -0.21), atol=1e-6)
    np.testing.assert_allclose(rotation, (np.cos(1.05), 0.0, np.sin(1.05), 0.0), atol=1e-6)
    np.testing.assert_allclose(point.at(0.19 + AHEAD)[0], point.at(0.19 + 0.2)[0])
    assert not np.isfinite(point.at(0.19 + LOST + 0.01)[0]).any()


def test_a_jump_is_no_speed():
    from posable.live.board import Board

    board = Board()
    board.report("a", "tracker", (0.0, 1.0, 0.0), None, "me", 0.0)
    board.report("a", "tracker", (5.0, 1.0, 0.0), None, "me", 0.01)
    assert board.points["a"].at(0.05)[0] == (5.0, 1.0, 0.0)
    board.report("a", "tracker", (5.0, 1.0, 0.0), None, "other", 0.011)
    assert board.points["a"].velocity == (0.0, 0.0, 0.0)
