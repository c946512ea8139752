"""C3D files: written by ezc3d and, for other processors, by a few lines here; bodies judged by true joints."""

import struct

import numpy as np
import pytest

import posable as ps
from posable.compute import FormatError, PosableError
from posable.formats import read_markers

from .test_fuzz_readers import _check, _mutated

# Where markers sit, from a joint [m], in the part's canonical frame (x left, y up, z ahead); of the left side.
SITES = {
    "FHD": ("head", (0.07, 0.10, 0.09)), "BHD": ("head", (0.07, 0.10, -0.09)), "SHO": ("upper_arm", (0.0, 0.05, 0.0)),
    "ASI": ("hips", (0.12, 0.05, 0.09)), "PSI": ("hips", (0.05, 0.09, -0.08)), "KNE": ("lower_leg", (0.05, 0.0, 0.0)),
    "ANK": ("foot", (0.04, 0.0, 0.0)), "HEE": ("foot", (0.0, -0.04, -0.05)), "TOE": ("foot", (0.0, -0.04, 0.13)),
    "WRA": ("hand", (0.0, 0.0, 0.035)), "WRB": ("hand", (0.0, 0.0, -0.035)), "FIN": ("hand", (0.0, -0.08, 0.0)),
    "THI": ("upper_leg", (0.08, -0.2, 0.0)), "TIB": ("lower_leg", (0.06, -0.2, 0.0)),
}  # fmt: skip


def labelled(motion, prefix=""):
    """Markers of a person (label to (F, 3) [m]) from the joints of a motion."""
    body = ps.Humanoid(motion.skeleton)
    frames = body.skeleton.forward(motion.pose)
    made = {}
    for side, mark, sign in (("left", "L", 1.0), ("right", "R", -1.0)):
        for name, (part, (x, y, z)) in SITES.items():
            role = part if part in ("head", "hips") else f"{side}_{part}"
            joint = body.index(role)
            own = body.canonical_orientation(frames, joint)
            origin = frames.positions[:, joint]
            if part == "hips":  # of the middle between the hip joints, wherever the rig has its root
                origin = frames.positions[:, [body.index(f"{s}_upper_leg") for s in ("left", "right")]].mean(axis=1)
            made[f"{prefix}{mark}{name}"] = origin + ps.math.rotate(own, [sign * x, y, z])
        elbow = body.canonical_orientation(frames, body.index(f"{side}_upper_arm"))
        at = frames.positions[:, body.index(f"{side}_lower_arm")]
        made[f"{prefix}{mark}ELB"] = at + ps.math.rotate(elbow, [sign * 0.04, 0.0, 0.0])
    return made


def written(path, markers, fps=100.0, unit="mm", up="z", lost=()):
    """A file by ezc3d's own writer."""
    ezc3d = pytest.importorskip("ezc3d")
    made = ezc3d.c3d()
    places = np.stack(list(markers.values()), axis=1)
    if up == "z":
        places = np.stack([places[..., 0], -places[..., 2], places[..., 1]], axis=-1)
    places = places * {"mm": 1000.0, "m": 1.0}[unit]
    points = np.ones((4, len(markers), len(places)))
    points[:3] = places.transpose(2, 1, 0)
    for frame, name in lost:
        points[:3, list(markers).index(name), frame] = np.nan
    made["parameters"]["POINT"]["LABELS"]["value"] = list(markers)
    made["parameters"]["POINT"]["RATE"]["value"] = [fps]
    made["parameters"]["POINT"]["UNITS"]["value"] = [unit]
    made["data"]["points"] = points
    made.write(str(path))
    return path


@pytest.fixture(scope="module")
def boxer(request):
    folder = request.getfixturevalue("data_dir")
    return ps.load(folder / "cmu" / "17_10.bvh", repair="cmu", first_frame=1)[100:400]


@pytest.mark.parametrize(("unit", "up"), [("mm", "z"), ("m", "y")])
def test_markers_are_where_ezc3d_put_them_and_gaps_stay_gaps(tmp_path, boxer, unit, up):
    markers = labelled(boxer)
    lost = [(3, "LFHD"), (4, "LFHD"), (7, "RTOE")]
    found = read_markers(written(tmp_path / "a.c3d", markers, unit=unit, up=up, lost=lost))
    assert found.labels == tuple(markers) and found.fps == 100.0 and len(found) == len(boxer)
    expected = np.stack(list(markers.values()), axis=1)
    for frame, name in lost:
        expected[frame, list(markers).index(name)] = np.nan
    assert (np.isnan(found.positions) == np.isnan(expected)).all()
    assert np.nanmax(np.abs(found.positions - expected)) < 1e-6


@pytest.mark.parametrize("names", ["plug-in", "cmu"])
def test_a_body_is_fitted_whose_joints_are_those_of_the_person(tmp_path, boxer, names):
    markers = labelled(boxer, prefix="Boxer:" if names == "plug-in" else "")
    if names == "cmu":
        swap = {"LASI": "LFWT", "RASI": "RFWT", "LPSI": "LBWT", "RPSI": "RBWT", "LTIB": "LSHN", "RTIB": "RSHN"}
        markers = {swap.get(name, name): value for name, value in markers.items()}
    motion = ps.load(written(tmp_path / "a.c3d", markers))
    assert len(motion) == len(boxer) and motion.fps == 100.0
    body, truth = ps.Humanoid(motion.skeleton), ps.Humanoid(boxer.skeleton)
    mine, theirs = (b.skeleton.forward(m.pose).positions for b, m in ((body, motion), (truth, boxer)))
    for role in ("lower_leg", "foot", "lower_arm", "hand"):
        for side in ("left", "right"):
            off = np.linalg.norm(
                mine[:, body.index(f"{side}_{role}")] - theirs[:, truth.index(f"{side}_{role}")], axis=-1
            )
            # Hands and feet are met; elbows and knees are as good as lengths and the figure's spine allow.
            most = {"lower_arm": (0.025, 0.10), "lower_leg": (0.025, 0.08)}.get(role, (0.005, 0.03))
            assert np.median(off) < most[0] and off.max() < most[1], (role, side)
    for name in ("thigh", "calf", "upper_arm", "forearm"):
        assert body.measures[name] == pytest.approx(truth.measures[name], rel=0.12)
    posture, own = body.canonical(motion.pose), truth.canonical(boxer.pose)
    rotated = ps.math.angle(*(p.world()[:, p.index("hips")] for p in (posture, own)))
    assert np.median(rotated) < 0.25  # the markers' pelvis against the rig's


def test_lost_markers_are_bridged_and_noted(tmp_path, boxer):
    lost = [(frame, "LKNE") for frame in range(50, 60)]
    markers = labelled(boxer)
    whole, gaps = (ps.load(written(tmp_path / "a.c3d", markers, lost=some)) for some in ((), lost))
    assert any("markers were lost in 10 of 300 frames (left lower leg)" in note for note in gaps.notes)
    assert not any("lost" in note for note in whole.notes)
    knees = [
        m.skeleton.forward(m.pose).positions[:, ps.Humanoid(m.skeleton).index("left_lower_leg")] for m in (whole, gaps)
    ]
    assert np.linalg.norm(knees[0] - knees[1], axis=-1).max() < 0.12
    assert np.linalg.norm(np.diff(knees[1], axis=0), axis=-1).max() < 0.08


def test_one_lost_marker_of_the_head_or_the_pelvis_is_no_loss(tmp_path, boxer):
    lost = [(frame, name) for frame in range(5, 15) for name in ("LFHD", "RPSI")]
    motion = ps.load(written(tmp_path / "a.c3d", labelled(boxer), lost=lost))
    assert not any("lost" in note for note in motion.notes)


def test_without_a_known_set_of_markers_the_labels_are_listed(tmp_path):
    markers = {name: np.ones((4, 3)) for name in ("ball", "bat")}
    path = written(tmp_path / "a.c3d", markers)
    with pytest.raises(FormatError, match=r"no markers LFHD.*it has ball, bat.*read_markers"):
        ps.load(path)
    assert read_markers(path).labels == ("ball", "bat")


def plain(
    places,
    *,
    processor=84,
    integer=False,
    scale=0.1,
    residual=0,
    frames=None,
    rate=60.0,
    labels=None,
    units="mm",
    long=None,
):
    """A file of a few lines of struct, by the user guide: (F, P, 3) in the file's unit."""
    order = ">" if processor == 86 else "<"

    def real(value):
        if processor != 85:
            return struct.pack(order + "f", value)
        one = struct.pack("<f", 4.0 * value)
        return one[2:] + one[:2]

    def parameter(group, name, kind, shape, data):
        body = struct.pack("bB", kind, len(shape)) + bytes(shape) + data + b"\0"
        head = struct.pack("bb", len(name), group) + name.encode()
        return head + struct.pack(order + "H", len(body) + 2) + body

    count, points, _ = places.shape
    labels = labels or [f"M{k}" for k in range(points)]
    section = bytes([0, 0, 1, processor])
    section += struct.pack("bb", 5, -1) + b"POINT" + struct.pack(order + "H", 3) + b"\0"
    section += parameter(1, "LABELS", -1, [8, len(labels)], "".join(f"{label:8}" for label in labels).encode())
    section += parameter(1, "UNITS", -1, [2], units.encode())
    if long is not None:  # more frames than the header's words can tell
        section += parameter(1, "LONG_FRAMES", 4, [], real(long))
    section += b"\0\0"
    section = section.ljust(512, b"\0")
    header = bytes([2, 0x50])
    words = [points, 0, 1, count if frames is None else frames, 0]
    header += b"".join(struct.pack(order + "H", word) for word in words)
    header += real(scale if integer else -scale) + struct.pack(order + "HH", 3, 0) + real(rate)
    data = b""
    for frame in places:
        for place in frame:
            if integer:
                data += struct.pack(order + "4h", *(round(x / scale) for x in place), residual)
            else:
                data += b"".join(real(x) for x in (*place, residual))
    return header.ljust(512, b"\0") + section + data.ljust(-len(data) % 512 + len(data), b"\0")


def with_parameters(entries):
    """A file whose section of parameters, of the largest size, begins with these (group, name, value, step)."""
    data = bytearray(plain(np.ones((1, 1, 3))))
    section = bytearray(255 * 512)
    section[:4] = bytes([0, 0, 255, 84])
    at = 4
    for group, name, value, step in entries:
        made = struct.pack("bb", len(name), group) + name + struct.pack("<H", step) + value
        section[at : at + len(made)] = made
        at += 2 + len(name) + step
    data[16:18] = struct.pack("<H", 257)  # where points begin
    return bytes(data[:512]) + bytes(section) + bytes(data[1024:])


def test_parameters_that_lie_over_one_another_are_refused(tmp_path):
    """Each of thousands of ten bytes would have 65 thousand texts: gigabytes from a file of 131 kB."""
    texts = bytes([255, 3, 1, 255, 255])
    entries = [(1 + k // 676, bytes([65 + k % 26, 65 + k // 26 % 26]), texts, 7) for k in range(600)]
    (tmp_path / "a.c3d").write_bytes(with_parameters(entries))
    with pytest.raises(FormatError, match="lies over others"):
        read_markers(tmp_path / "a.c3d")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_of_fields_that_are_none_do_not_count(tmp_path, value):
    fields = bytes([4, 1, 2]) + struct.pack("<2f", value, value)
    entries = [(-1, b"TRIAL", b"\0", 3)]
    entries += [(1, name, fields, 2 + len(fields)) for name in (b"ACTUAL_START_FIELD", b"ACTUAL_END_FIELD")]
    (tmp_path / "a.c3d").write_bytes(with_parameters(entries))
    assert len(read_markers(tmp_path / "a.c3d")) == 1


@pytest.mark.parametrize("processor", [84, 85, 86])
@pytest.mark.parametrize("integer", [False, True])
def test_files_of_all_processors_are_read(tmp_path, processor, integer):
    places = np.random.default_rng(4).normal(size=(5, 3, 3)) * 500.0
    (tmp_path / "a.c3d").write_bytes(plain(places, processor=processor, integer=integer))
    found = read_markers(tmp_path / "a.c3d", up="y")
    assert found.labels == ("M0", "M1", "M2") and found.fps == 60.0
    assert np.abs(found.positions * 1000.0 - places).max() < (0.051 if integer else 1e-3)


def test_points_that_the_file_calls_unseen_are_gaps(tmp_path):
    for residual, integer in ((-1, False), (-1, True)):
        (tmp_path / "a.c3d").write_bytes(plain(np.ones((2, 2, 3)), residual=residual, integer=integer))
        assert np.isnan(read_markers(tmp_path / "a.c3d", up="y").positions).all()
    (tmp_path / "a.c3d").write_bytes(plain(np.zeros((2, 2, 3))))
    assert np.isnan(read_markers(tmp_path / "a.c3d", up="y").positions).all()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: data[:700], "parameters|room for|begin"),
        (lambda data: b"\0" + data[1:], "begin in block 0"),
        (lambda data: data[:1] + b"Q" + data[2:], "no C3D file"),
        (lambda data: data[:515] + b"\1" + data[516:], "processor 1"),
        (lambda data: data[:8] + b"\xff\xff" + data[10:], "room for"),
        (lambda data: data[:2] + b"\0\0" + data[4:], "0 points"),
        (lambda data: data[:1024], "room for"),
        (lambda data: data[:20] + b"\0\0\0\0" + data[24:], "frames a second"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, damage, said):
    (tmp_path / "a.c3d").write_bytes(damage(plain(np.ones((3, 2, 3)))))
    with pytest.raises(FormatError, match=said):
        read_markers(tmp_path / "a.c3d")


def test_a_person_of_the_wrong_unit_is_refused(tmp_path, boxer):
    markers = {name: value * 0.001 for name, value in labelled(boxer[:20]).items()}
    with pytest.raises(FormatError, match="its unit"):
        ps.load(written(tmp_path / "a.c3d", markers))
    with pytest.raises(PosableError, match="up='x'"):
        ps.load(tmp_path / "a.c3d", up="x")


def test_mutated_files_give_markers_or_one_error(tmp_path, boxer):
    seeds = [
        plain(np.ones((3, 4, 3))),
        plain(np.ones((3, 4, 3)), processor=86, integer=True),
        written(tmp_path / "seed.c3d", labelled(boxer[:3])).read_bytes(),
    ]
    read = 0
    for case in range(900):
        path = tmp_path / "a.c3d"
        path.write_bytes(_mutated(seeds[case % 3], np.random.default_rng([6, case])))
        try:
            found = read_markers(path)
        except FormatError as error:
            assert "a.c3d" in str(error)
            continue
        read += 1
        assert found.positions.shape == (len(found), len(found.labels), 3) and 0.0 < found.fps < 1e6
        assert not np.isinf(found.positions).any()
        if case % 3 == 2 and case % 5 == 0:
            _check(path)
    assert 0 < read < 900


def test_the_command_line_takes_it(tmp_path, boxer, capsys):
    from posable.cli.app import app

    written(tmp_path / "walk.c3d", labelled(boxer[:30]))
    for words in (["info", f"{tmp_path}/walk.c3d"], ["convert", f"{tmp_path}/walk.c3d", f"{tmp_path}/walk.bvh"]):
        with pytest.raises(SystemExit) as ended:
            app(words)
        assert ended.value.code == 0, words
    assert "walk.c3d: a person, 30 frames at 100" in capsys.readouterr().out
