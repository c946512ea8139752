"""Motions of robots, with the robot beside them: rows that cost no text, orders, names and numbers."""

from __future__ import annotations

import json
import os

import numpy as np

from . import archive_cases
from .cases import case, written
from .robot_cases import joints, mjcf

HINGE = "<body name='a'><freejoint/><body name='b'><joint name='j'/></body></body>"
STILL = f"<body name='a'><freejoint/>{''.join(f'<body name={chr(34)}b{k}{chr(34)}/>' for k in range(9000))}</body>"
ROW = "0,0,0,0,0,0,1,0\n"


def robot(folder, bodies=HINGE):
    """The robot's file; the motion's is made beside it."""
    return mjcf(folder, bodies=bodies, name="robot.xml")


def qpos(frames, width=8):
    """Positions (F, width) of a robot that stands still."""
    values = np.zeros((frames, width))
    values[:, 3] = 1.0
    return values


def stored(folder, **arrays):
    """An archive of plain arrays."""
    return archive_cases.archive(folder, {name: archive_cases.npy(np.asarray(one)) for name, one in arrays.items()})


def tracking(frames, bodies, joint_count, **more):
    """The members of an archive for mjlab or BeyondMimic."""
    rotations = np.zeros((frames, bodies, 4))
    rotations[..., 0] = 1.0
    found = {"joint_pos": np.zeros((frames, joint_count)), "body_pos_w": np.zeros((frames, bodies, 3))}
    return found | {"body_quat_w": rotations} | more


@case("motion")
def trajectory_of_bodies_that_cost_no_text(folder):
    robot(folder, STILL)
    return written(folder / "a.csv", "0,0,0,0,0,0,1\n" * 20_000)


@case("motion")
def trajectory_of_bodies_that_cost_no_numbers(folder):
    robot(folder, STILL)
    return written(folder / "a.npy", archive_cases.npy(qpos(20_000, 7)))


@case("motion")
def trajectory_in_isaac_of_bodies_that_cost_no_numbers(folder):
    robot(folder, STILL)
    return stored(folder, **tracking(20_000, 1, 0))


@case("motion")
def trajectory_of_more_names_than_joints(folder):
    robot(folder)
    names = "root_x,root_y,root_z,root_qx,root_qy,root_qz,root_qw,j," + ",".join(f"n{k}" for k in range(60_000))
    return written(folder / "a.csv", f"{names}\n{ROW.strip()}{',0' * 60_000}\n")


@case("motion")
def trajectory_of_a_long_chain_breadth_first(folder):
    links = "".join(f"<link name='l{k}'/>" for k in range(9900))
    ends = "".join(
        f"<joint name='j{k}' type='revolute'><parent link='l{k}'/><child link='l{k + 1}'/></joint>" for k in range(9899)
    )
    written(folder / "robot.urdf", f"<robot name='a'>{links}{ends}</robot>")
    return stored(folder, **tracking(1, 9900, 9899))


@case("motion")
def trajectory_of_a_robot_with_a_long_name_and_a_ball(folder):
    robot(folder, f"<body name='a'><freejoint/><body name='b'><joint type='ball' name='{'x' * 10**5}'/></body></body>")
    return written(folder / "a.csv", ROW)


@case("motion")
def trajectory_beyond_all_numbers(folder):
    robot(folder)
    values = qpos(20)
    values[7, [0, 7]] = 1e308
    return stored(folder, qpos=values)


@case("motion")
def trajectory_of_bodies_beyond_all_numbers(folder):
    robot(folder)
    return stored(folder, **(tracking(20, 2, 1) | {"body_pos_w": np.full((20, 2, 3), 1e308)}))


@case("motion")
def trajectory_of_numbers_wider_than_ours(folder):
    robot(folder)
    values = qpos(20).astype(np.longdouble)
    values[3, 7] = np.longdouble("1e400")
    return stored(folder, qpos=values)


@case("motion")
def trajectory_of_a_frame_that_never_ends(folder):
    robot(folder)
    return stored(folder, **tracking(20, 2, 1, fps=5e-324))


@case("motion")
def trajectory_beside_a_pipe_and_a_device(folder):
    os.mkfifo(folder / "a.csv.json")
    robot(folder)
    return written(folder / "a.csv", ROW * 3)


@case("motion")
def trajectory_beside_odd_facts(folder):
    robot(folder)
    said = {"format": "posable-robot-motion/1", "robot": "a", "fps": 5e-324, "order": "x" * 10**5, "columns": []}
    written(folder / "a.csv.json", json.dumps(said))
    return written(folder / "a.csv", ROW * 3)


@case("motion")
def trajectory_of_lines_without_end(folder):
    robot(folder)
    return written(folder / "a.csv", "0," * 500_000)


@case("motion")
def trajectory_for_another_robot(folder):
    robot(folder, f"<body name='a'><freejoint/>{joints(40)}</body>")
    return written(folder / "a.csv", ROW * 1000)


@case("motion")
def trajectory_as_it_should_be(folder):
    robot(folder)
    return written(folder / "a.csv", ROW * 1000)
