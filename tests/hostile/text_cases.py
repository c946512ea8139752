"""BVH, ASF and AMC files, tables of points and of targets, and what lies next to them."""

from __future__ import annotations

import os

from ..formats.example_motions import LITTLE_BVH
from ..formats.test_asf import LITTLE_AMC, LITTLE_ASF
from .cases import case, written

TEN = 10_000_000


def bvh(folder, hierarchy, frames, numbers="", time="0.1"):
    """A BVH file."""
    text = f"HIERARCHY\n{hierarchy}\nMOTION\nFrames: {frames}\nFrame Time: {time}\n{numbers}\n"
    return written(folder / "a.bvh", text)


def chain(count, channels=""):
    """Joints below one another."""
    joints = ("JOINT a { OFFSET 0 0 0 " + channels) * count
    return f"ROOT a {{ OFFSET 0 0 0 CHANNELS 1 Xposition {joints}{'}' * (count + 1)}"


def star(count, channels=""):
    """Joints on one root."""
    return f"ROOT a {{ OFFSET 0 0 0 CHANNELS 1 Xposition {('JOINT a { OFFSET 0 0 0 ' + channels + '} ') * count}}}"


@case("load")
def bvh_joints_without_channels_in_many_frames(folder):
    return bvh(folder, star(9_000), 100_000, "0 " * 100_000)


@case("load", large=True)
def bvh_as_many_frames_as_it_may(folder):
    return bvh(folder, star(9), 300_000, "0 " * 5_000_000)


@case("load", large=True)
def bvh_rows_up_to_the_limit(folder):
    return bvh(folder, star(1), 1_800_000, "0 " * 1_800_000 + " " * 6_000_000)


@case("load", large=True)
def bvh_rows_up_to_the_limit_that_move(folder):
    return bvh(folder, star(7, "CHANNELS 1 Xposition "), 400_000, "1 " * 3_200_000 + " " * 3_000_000)


@case("load")
def bvh_ten_thousand_joints_in_a_chain(folder):
    return bvh(folder, chain(9_999), 2, "0 0")


@case("load")
def bvh_ten_thousand_joints_with_channels(folder):
    return bvh(folder, chain(9_999, "CHANNELS 3 Xrotation Yrotation Zrotation "), 10, "1 " * 299_980)


@case("load", large=True)
def bvh_too_many_joints(folder):
    return bvh(folder, chain(300_000), 1, "0")


@case("load")
def bvh_names_with_numbers(folder):
    joints = " ".join(f"JOINT a.{k:03d} {{ OFFSET 0 0 0 }} JOINT a {{ OFFSET 0 0 0 }}" for k in range(4_900))
    return bvh(folder, f"ROOT a {{ OFFSET 0 0 0 {joints} }}", 1)


@case("load", large=True)
def bvh_one_number_of_ten_million_digits(folder):
    return bvh(folder, star(0), 1, "1" * TEN)


@case("load", large=True)
def bvh_a_frame_time_of_many_digits(folder):
    return bvh(folder, star(0), 1, "1", "0." + "1" * TEN)


@case("load", large=True)
def bvh_numbers_of_all_digits_and_one_word(folder):
    return bvh(folder, star(0), 400_001, "0.12345678901234567890123 " * 400_000 + "x")


@case("load", large=True)
def bvh_lines_of_the_wrong_length(folder):
    return bvh(folder, star(0), 2_000_000, "1\n" * 3_000_000)


@case("load", large=True)
def bvh_blanks(folder):
    return written(folder / "a.bvh", "HIERARCHY motion" + " " * TEN)


@case("load", large=True)
def bvh_motion_again_and_again(folder):
    return written(folder / "a.bvh", "HIERARCHY " + "motion frames : " * 600_000)


@case("load", large=True)
def bvh_end_sites(folder):
    return bvh(folder, "ROOT a { OFFSET 0 0 0 " + "End Site { OFFSET 0 0 0 } " * 300_000 + "}", 1)


@case("load")
def bvh_frames_that_lie(folder):
    return written(folder / "a.bvh", LITTLE_BVH.replace("Frames: ", "Frames: 99999999"))


@case("repair")
def bvh_tables_that_are_pipes(folder):
    for name in ("thorax.csv", "clips.csv", "skeleton_fix.csv"):
        os.mkfifo(folder / name)
    return written(folder / "09_01.bvh", LITTLE_BVH)


@case("repair")
def amc_tables_that_are_devices(folder):
    (folder / "clips.csv").symlink_to("/dev/zero")
    written(folder / "07.asf", LITTLE_ASF)
    return written(folder / "07_01.amc", LITTLE_AMC)


@case("repair", large=True)
def amc_a_table_without_end(folder):
    written(folder / "clips.csv", "clip,fps_true\n" + "a,b\n" * 2_000_000)
    written(folder / "07.asf", LITTLE_ASF)
    return written(folder / "07_01.amc", LITTLE_AMC)


def asf(count, dof="", parent=lambda k: k - 1):
    """A skeleton of bones."""
    bones = "".join(f"begin\nname b{k}\ndirection 0 1 0\nlength 1\naxis 0 0 0 XYZ\n{dof}end\n" for k in range(count))
    below = "".join(f"{f'b{parent(k)}' if parent(k) >= 0 else 'root'} b{k}\n" for k in range(count))
    return (
        ":units\nlength 0.45\nangle deg\n:root\norder TX\naxis XYZ\nposition 0 0 0\norientation 0 0 0\n"
        f":bonedata\n{bones}:hierarchy\nbegin\n{below}end\n"
    )


@case("load")
def asf_ten_thousand_bones(folder):
    return written(folder / "a.asf", asf(9_999))


@case("load")
def asf_ten_thousand_bones_on_the_root(folder):
    return written(folder / "a.asf", asf(9_999, "dof rx ry rz\n", lambda k: -1))


@case("load")
def amc_frames_of_bones_without_channels(folder):
    written(folder / "a.asf", asf(9_999))
    return written(folder / "a.amc", ":FULLY-SPECIFIED\n" + "".join(f"{k}\nroot 0\n" for k in range(1, 20_000)))


@case("load")
def amc_frames_of_nothing(folder):
    text = asf(9_999).replace("order TX\n", "")
    written(folder / "a.asf", text)
    return written(folder / "a.amc", "".join(f"{k}\n" for k in range(1, 100_000)))


@case("load", large=True)
def amc_many_short_frames(folder):
    written(folder / "a.asf", asf(1))
    return written(folder / "a.amc", "".join(f"{k}\nroot 0\n" for k in range(1, 600_000)))


@case("load", large=True)
def amc_one_line(folder):
    written(folder / "a.asf", asf(1))
    return written(folder / "a.amc", "1\nroot " + "0 " * 5_000_000)


@case("load", large=True)
def amc_empty_lines(folder):
    written(folder / "a.asf", asf(1))
    return written(folder / "a.amc", "\n" * TEN)


@case("load", large=True)
def amc_a_number_of_many_digits(folder):
    written(folder / "a.asf", asf(1))
    return written(folder / "a.amc", "1\nroot " + "1" * TEN)


@case("load")
def amc_a_frame_number_of_many_digits(folder):
    written(folder / "a.asf", asf(1))
    return written(folder / "a.amc", "9" * 10**6 + "\nroot 0\n")


@case("load")
def amc_a_skeleton_that_is_a_pipe(folder):
    os.mkfifo(folder / "a.asf")
    return written(folder / "a.amc", LITTLE_AMC)


@case("load")
def amc_a_skeleton_that_is_a_device(folder):
    (folder / "a.asf").symlink_to("/dev/zero")
    return written(folder / "a.amc", LITTLE_AMC)


@case("load")
def amc_a_skeleton_that_is_a_folder(folder):
    (folder / "a.asf").mkdir()
    return written(folder / "a.amc", LITTLE_AMC)


@case("load")
def amc_a_skeleton_out_of_the_folder(folder):
    (folder / "a.asf").symlink_to("/etc/passwd")
    return written(folder / "a.amc", LITTLE_AMC)


@case("load")
def asf_a_name_of_a_megabyte(folder):
    return written(folder / "a.asf", asf(2).replace("b1", "b" * 10**6))


@case("load", large=True)
def asf_a_family_of_one_line(folder):
    return written(folder / "a.asf", asf(9_999) + ":hierarchy\nb0 " + "b1 " * 3_000_000)


POINT = "time,hips_x,hips_y,hips_z"


def points(folder, text):
    """A table of points."""
    return written(folder / "a.csv", text)


@case("points", large=True)
def points_short_lines(folder):
    return points(folder, POINT + "\n" + "".join(f"{k},0,0,0\n" for k in range(700_000)))


@case("points", large=True)
def points_lost_everywhere(folder):
    return points(folder, POINT + "\n" + "".join(f"{k},,,\n" for k in range(900_000)))


@case("points")
def points_with_gaps_in_time(folder):
    return points(
        folder, POINT + "\n" + "".join(f"{k if k % 2 else k + 0.5},1,1,1\n" for k in range(30_000)) + "2900000,0,0,0\n"
    )


@case("points", large=True)
def points_with_gaps_in_a_long_time(folder):
    lines = "".join(f"{k / 1000:.3f},1,1,1\n" for k in range(600_000))
    return points(folder, f"{POINT}\n{lines}50000,0,0,0\n")


@case("points", large=True)
def points_one_line_of_names(folder):
    return points(folder, "time," * 2_000_000)


@case("points")
def points_a_name_of_a_megabyte(folder):
    return points(folder, "time,left_" + "hand" * 250_000 + "\n1,2\n")


@case("points")
def points_a_name_of_a_hundred_thousand(folder):
    return points(folder, "time,left_" + "hand_" * 20_000 + "x\n1,2\n")


@case("points")
def points_a_pipe(folder):
    os.mkfifo(folder / "a.csv")
    return folder / "a.csv"


@case("points")
def points_a_device(folder):
    (folder / "a.csv").symlink_to("/dev/zero")
    return folder / "a.csv"


@case("points")
def points_a_quote_without_end(folder):
    return points(folder, POINT + '\n"' + "0\n" * 1_000_000)


@case("points")
def points_numbers_of_many_digits(folder):
    return points(folder, POINT + "\n" + f"0,{'1' * 100_000},0,0\n" + f"1,0.{'1' * 100_000},0,0\n")


@case("points")
def points_times_that_are_not_numbers(folder):
    return points(folder, "hips_x,hips_y,hips_z,time\n0,0,0,0\n0,0,0,nan\n0,0,0,2\n")


@case("points")
def points_times_whose_difference_is_beyond_all_numbers(folder):
    return points(folder, POINT + "\n" + "".join(f"{time},1,1,1\n" for time in (-1.7e308, 0.0, 1.7e308)))


@case("points")
def points_times_nearer_than_any_clock(folder):
    return points(folder, POINT + "\n" + "".join(f"{k * 5e-324!r},1,1,1\n" for k in range(9)))


@case("points", large=True)
def points_wide_characters(folder):
    return points(folder, POINT + "\n" + "0,0,0,0\n" * 1_000_000 + "\U0001f600")


@case("points")
def points_a_folder(folder):
    (folder / "a.csv").mkdir()
    return folder / "a.csv"


@case("targets", large=True)
def targets_short_lines(folder):
    return written(folder / "a.csv", "x,y,z\n" + "0,0,0\n" * 1_500_000)


@case("targets", large=True)
def targets_objects(folder):
    return written(folder / "a.json", "[" + '{"x":0,"y":0,"z":0},' * 400_000 + '{"x":0,"y":0,"z":0}]')


@case("targets", large=True)
def targets_empty_objects(folder):
    return written(folder / "a.json", "[" + "{}," * 3_000_000 + "{}]")


@case("targets", large=True)
def targets_lines_of_commas(folder):
    return written(folder / "a.csv", "x,y,z\n" + "," * TEN)


@case("targets")
def targets_a_name_of_a_megabyte(folder):
    return written(folder / "a.json", '[{"' + "hand_x" * 200_000 + '":0}]')


@case("targets")
def targets_as_many_as_may_be(folder):
    return written(folder / "a.csv", "x,y,z\n" + "0,0,0\n" * 50_000)


@case("targets", large=True)
def targets_columns_without_end(folder):
    return written(folder / "a.csv", "x," * 3_000_000 + "\n" + "0," * 1_000_000)


@case("targets")
def targets_a_pipe(folder):
    os.mkfifo(folder / "a.csv")
    return folder / "a.csv"


@case("targets")
def targets_a_device(folder):
    (folder / "a.json").symlink_to("/dev/zero")
    return folder / "a.json"


@case("targets")
def targets_nested_deeply(folder):
    return written(folder / "a.json", "[" * 1_000_000)


@case("targets")
def targets_a_number_of_many_digits(folder):
    return written(folder / "a.json", '[{"x":' + "1" * 10**6 + ',"y":0,"z":0}]')


@case("targets")
def targets_text_for_a_number(folder):
    return written(folder / "a.json", '[{"x":"' + "1" * 10**6 + 'x","y":0,"z":0}]')


@case("posable express C FILE out.csv")
def express_a_pipe(folder):
    os.mkfifo(folder / "a.csv")
    return folder / "a.csv"


@case("posable express C FILE out.csv", large=True)
def express_columns_without_end(folder):
    return written(folder / "a.csv", "a," * 4_000_000 + "\n0")


@case("posable express C FILE out.csv", large=True)
def express_short_lines(folder):
    return written(folder / "a.csv", "a\n" + "0\n" * 990_000)


@case("posable info walk.bvh --roles FILE")
def roles_nested_deeply(folder):
    return written(folder / "a.json", "[" * 100_000)


@case("posable info walk.bvh --roles FILE")
def roles_a_pipe(folder):
    os.mkfifo(folder / "a.json")
    return folder / "a.json"
