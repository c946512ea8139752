"""NumPy archives: motions, ranges, swivels, priors and results whose members lie, overlap or are too many."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib

import numpy as np

from .cases import case


def npy(array):
    """An array as NumPy writes it."""
    file = io.BytesIO()
    np.lib.format.write_array(file, np.ascontiguousarray(array).reshape(np.shape(array)), (1, 0), allow_pickle=False)
    return file.getvalue()


def described(text):
    """A member with a description of its own and no numbers."""
    head = text.encode() + b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head


def archive(folder, members, name="a.npz", compress=zipfile.ZIP_STORED):
    """An archive of arrays, or of bytes as they are."""
    with zipfile.ZipFile(folder / name, "w", compress) as file:
        for key, value in members.items():
            file.writestr(f"{key}.npy", value if isinstance(value, bytes) else npy(value))
    return folder / name


def motion(joints, frames, **members):
    """The members of a motion."""
    rotations = np.zeros((frames, joints, 4))
    rotations[..., 0] = 1.0
    rest = np.tile([1.0, 0, 0, 0], (joints, 1))
    return {
        "format": np.array("posable-motion"),
        "version": np.int64(1),
        "fps": np.float64(30.0),
        "name": np.array("m"),
        "notes": np.array([], dtype="U1"),
        "names": np.array([f"j{k}" for k in range(joints)]),
        "parents": np.arange(-1, joints - 1),
        "offsets": np.zeros((joints, 3)),
        "rest_rotations": rest,
        "kinds": np.array(["free", *["ball"] * (joints - 1)]),
        "axes": np.tile(np.eye(3)[:2], (joints, 1, 1)),
        "end_parents": np.array([], dtype=np.int64),
        "end_offsets": np.zeros((0, 3)),
        "end_names": np.array([], dtype="U1"),
        "translation": np.zeros((frames, 3)),
        "rotations": rotations,
    } | members


@case("load")
def npz_the_little_motion_itself(folder):
    return archive(folder, motion(3, 2))


@case("load")
def npz_many_joints(folder):
    return archive(folder, motion(20_000, 1))


@case("load", large=True)
def npz_very_many_joints(folder):
    return archive(folder, motion(60_000, 1, kinds=np.array(["free", *["hinge"] * 59_999])))


@case("load", large=True)
def npz_the_last_two_joints_of_one_name(folder):
    names = np.array([f"j{k}" for k in range(60_000)])
    names[-1] = names[-2]
    return archive(folder, motion(60_000, 1, names=names))


@case("load", large=True)
def npz_notes_without_end(folder):
    return archive(folder, motion(2, 1, notes=np.array(["\u4e00"] * 2_000_000)))


@case("load")
def npz_end_sites_on_one_joint(folder):
    count = 100_000
    ends = {
        "end_parents": np.zeros(count, np.int64),
        "end_offsets": np.zeros((count, 3)),
        "end_names": np.array(["e"] * count),
    }
    return archive(folder, motion(2, 1, **ends))


@case("load")
def npz_end_sites_on_no_joint(folder):
    count = 100_000
    ends = {"end_parents": np.full(count, 9), "end_offsets": np.zeros((count, 3)), "end_names": np.array(["e"] * count)}
    return archive(folder, motion(2, 1, **ends))


@case("load")
def npz_frames_of_nothing(folder):
    text = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 0, 4), }"
    return archive(folder, motion(2, 1, rotations=described(text)))


@case("load")
def npz_a_shape_beyond_all_numbers(folder):
    text = "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 1" + "0" * 4000 + ", 4), }"
    return archive(folder, motion(2, 1, rotations=described(text)))


@case("load")
def npz_a_description_nested_deeply(folder):
    return archive(folder, motion(2, 1, rotations=described("(" * 9000 + ")" * 900)))


@case("load")
def npz_text_of_two_gigabytes_width(folder):
    text = "{'descr': '<U500000000', 'fortran_order': False, 'shape': (0,), }"
    return archive(folder, motion(2, 1, names=described(text)))


@case("load")
def npz_text_of_codes_that_are_no_characters(folder):
    return archive(folder, motion(2, 1, names=np.array([0x7FFFFFFF, 0, 1, 0], np.uint32).view("<U2")))


@case("load")
def npz_a_member_beyond_the_end_of_all_files(folder):
    path = archive(folder, motion(2, 1))
    data = bytearray(path.read_bytes())
    entry = data.rindex(b"PK\x01\x02")  # of the last member, whose place is now told by 64 bits
    data[entry + 42 : entry + 46] = b"\xff" * 4
    data[entry + 30 : entry + 32] = struct.pack("<H", 12)
    end = data.rindex(b"PK\x05\x06")
    size = struct.unpack_from("<I", data, end + 12)[0]
    struct.pack_into("<I", data, end + 12, size + 12)
    data[end:end] = struct.pack("<HHQ", 1, 8, 2**64 - 1)
    path.write_bytes(data)
    return path


@case("load")
def npz_compressed_zeros(folder):
    return archive(folder, motion(2, 200_000), compress=zipfile.ZIP_DEFLATED)


@case("load")
def npz_a_kind_of_a_megabyte(folder):
    return archive(folder, motion(2, 1, kinds=np.array(["free", "x" * 250_000])))


@case("load", large=True)
def npz_members_without_end(folder):
    with zipfile.ZipFile(folder / "a.npz", "w") as file:
        for k in range(60_000):
            file.writestr(f"m{k}.npy", b"")
    return folder / "a.npz"


def overlapping(folder, count, size):
    """An archive of which each member's bytes hold all members behind it."""
    names = [f"array_{k}.npy".encode() for k in range(count)]
    body = npy(np.zeros(size, np.uint8))
    blocks, directory = b"", b""
    contents = body
    starts = []
    for name in reversed(names):
        head = struct.pack(
            "<4sHHHHHIIIHH",
            b"PK\x03\x04",
            20,
            0,
            0,
            0,
            0,
            zlib.crc32(contents),
            len(contents),
            len(contents),
            len(name),
            0,
        )
        contents = head + name + contents
        starts.append((name, len(contents), zlib.crc32(contents[30 + len(name) :]), len(contents) - 30 - len(name)))
    for name, behind, crc, length in reversed(starts):
        at = len(contents) - behind
        directory += (
            struct.pack(
                "<4sHHHHHHIIIHHHHHII",
                b"PK\x01\x02",
                20,
                20,
                0,
                0,
                0,
                0,
                crc,
                length,
                length,
                len(name),
                0,
                0,
                0,
                0,
                0,
                at,
            )
            + name
        )
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, count, count, len(directory), len(contents) + len(blocks), 0)
    (folder / "a.npz").write_bytes(contents + directory + end)
    return folder / "a.npz"


@case("result")
def result_members_that_overlap(folder):
    return overlapping(folder, 300, 300_000)


@case("result")
def result_nested_deeply(folder):
    about = np.frombuffer(b"[" * 200_000, np.uint8)
    return archive(folder, {"about": about})


def result(folder, text, **members):
    """A result of a job."""
    start = b'{"format":"posable-result","version":1,"item":"i","result":'
    return archive(folder, {"about": np.frombuffer(start + text + b"}", np.uint8), **members})


@case("result", large=True)
def result_lists_of_lists(folder):
    return result(folder, b"[" + b"[[]]," * 1_900_000 + b"0]")


@case("result")
def result_one_array_many_times(folder):
    return result(folder, b"[" + b'{"__array__":0},' * 100_000 + b"0]", array_0=np.zeros(100_000))


@case("result")
def result_text_of_many_letters(folder):
    return archive(folder, {"about": np.array(["\U0001f600" * 10] * 20_000)})


@case("result", large=True)
def result_many_arrays(folder):
    return result(folder, b"0", **{f"array_{k}": np.zeros(1) for k in range(30_000)})


def range_file(folder, **members):
    """A range that Posable ships, with some members replaced."""
    with np.load(_asset("ranges")) as found:
        arrays = {name: found[name] for name in found.files}
    return archive(folder, arrays | members)


def _asset(kind):
    from importlib import resources

    return sorted((resources.files("posable") / "assets" / kind).glob("*.npz"))[0]


def _header(array, **changes):
    return np.frombuffer(json.dumps(json.loads(array.tobytes()) | changes).encode(), np.uint8)


@case("range")
def range_itself(folder):
    return range_file(folder)


@case("range")
def range_of_as_many_samples_as_may_be(folder):
    from posable.limb.range.sphere import MAX_SAMPLES

    with np.load(_asset("ranges")) as found:
        header = _header(found["header"], samples=MAX_SAMPLES, kind="samples")
    bits = np.full(-(-MAX_SAMPLES // 8), 255, np.uint8)
    rows = np.tile(np.array([1, 9, 0, 9], np.uint8), (MAX_SAMPLES, 1))
    return archive(folder, {"header": header, "kept": bits, "filled": bits, "rows": rows})


@case("range")
def range_of_more_samples_than_it_has(folder):
    with np.load(_asset("ranges")) as found:
        return range_file(folder, header=_header(found["header"], samples=10**15))


@case("range")
def range_a_header_nested_deeply(folder):
    return range_file(folder, header=np.frombuffer(b"[" * 500_000, np.uint8))


@case("range")
def range_a_header_of_one_number(folder):
    return range_file(folder, header=np.frombuffer(b"1" * 500_000, np.uint8))


@case("range")
def range_a_header_of_sources(folder):
    with np.load(_asset("ranges")) as found:
        header = _header(found["header"], sources=[["a", 1]] * 100_000)
    return range_file(folder, header=header)


@case("range")
def range_an_origin_of_many_names(folder):
    with np.load(_asset("ranges")) as found:
        header = _header(found["header"], origin={str(k): "a" for k in range(60_000)})
    return range_file(folder, header=header)


@case("range")
def range_coefficients_without_end(folder):
    return range_file(folder, coefficients=np.zeros((6, 40_000), np.float32))


@case("range")
def range_coefficients_that_are_huge(folder):
    with np.load(_asset("ranges")) as found:
        header = _header(found["header"], kind="harmonics")
    return archive(folder, {"header": header, "coefficients": np.full((6, 25), 1e38, np.float32)})


@case("range")
def range_a_limb_of_a_megabyte(folder):
    with np.load(_asset("ranges")) as found:
        return range_file(folder, header=_header(found["header"], limb="right_" + "arm" * 200_000))


@case("swivels", large=True)
def swivels_of_as_many_directions_as_may_be(folder):
    from posable.limb.range.sphere import MAX_SAMPLES

    with np.load(_asset("swivels")) as found:
        header, distances = found["header"], found["distances"]
    angles = np.zeros((MAX_SAMPLES, len(distances)), np.float32)
    return archive(folder, {"header": header, "angles": angles, "distances": distances})


@case("swivels")
def swivels_of_many_layers(folder):
    with np.load(_asset("swivels")) as found:
        header, count = found["header"], len(found["angles"])
    return archive(
        folder, {"header": header, "angles": np.zeros((count, 3000), np.float32), "distances": np.arange(3000.0)}
    )


@case("swivels")
def swivels_of_one_direction(folder):
    with np.load(_asset("swivels")) as found:
        header, distances = found["header"], found["distances"]
    return archive(
        folder, {"header": header, "angles": np.zeros((1, len(distances)), np.float32), "distances": distances}
    )


def prior(folder, **members):
    """The prior that Posable ships, with some members replaced."""
    with np.load(_asset("")) as found:
        arrays = {name: found[name] for name in found.files}
    return archive(folder, arrays | members)


@case("prior")
def prior_itself(folder):
    return prior(folder)


@case("prior")
def prior_an_origin_nested_deeply(folder):
    return prior(folder, origin=np.array("[" * 100_000))


@case("prior")
def prior_an_origin_of_one_number(folder):
    return prior(folder, origin=np.array("1" * 1_000_000))


@case("prior")
def prior_sizes_beyond_all_numbers(folder):
    with np.load(_asset("")) as found:
        sizes = found["sizes"].copy()
    sizes[2] = 2**62
    return prior(folder, sizes=sizes)


@case("prior")
def prior_sizes_below_zero(folder):
    with np.load(_asset("")) as found:
        sizes = found["sizes"].copy()
    sizes[2] = -5
    return prior(folder, sizes=sizes)


@case("prior")
def prior_of_many_layers(folder):
    with np.load(_asset("")) as found:
        sizes = found["sizes"]
    return prior(folder, sizes=np.concatenate([sizes[:2], np.ones(500_000, sizes.dtype), sizes[-2:]]))


@case("prior")
def prior_tiny_deviations(folder):
    with np.load(_asset("")) as found:
        return prior(folder, deviation=np.full_like(found["deviation"], 5e-324))


def smpl(frames, **members):
    """The members of a file of AMASS, everybody at rest."""
    still = {"trans": np.zeros((frames, 3), np.float32), "poses": np.zeros((frames, 66), np.float32)}
    return still | {"mocap_framerate": np.array(120.0)} | members


@case("load")
def smpl_the_little_motion_itself(folder):
    return archive(folder, smpl(2))


@case("load")
def smpl_packed_to_almost_nothing(folder):
    return archive(folder, smpl(140_000), compress=zipfile.ZIP_DEFLATED)


@case("load")
def smpl_packed_to_more_than_is_read(folder):
    return archive(folder, smpl(400_000), compress=zipfile.ZIP_DEFLATED)


@case("load")
def smpl_of_single_bytes(folder):
    bytes_of = {"trans": np.zeros((500_000, 3), np.uint8), "poses": np.zeros((500_000, 66), np.uint8)}
    return archive(folder, smpl(1, **bytes_of), compress=zipfile.ZIP_DEFLATED)


@case("load")
def smpl_of_frames_without_numbers(folder):
    return archive(folder, smpl(1, poses=np.zeros((0, 66)), trans=np.zeros((0, 3))))


@case("load", large=True)
def smpl_of_thousands_of_members(folder):
    return archive(folder, smpl(2) | {f"m{k}": np.zeros(1) for k in range(60_000)})


@case("load")
def smpl_of_a_body_that_never_stands_still(folder):
    rng = np.random.default_rng(0)
    return archive(folder, smpl(30_000, poses=rng.normal(size=(30_000, 66)).astype(np.float32)))
