"""Draws docs/_static/hands.png: shapes of the built-in figure's hand, and the hand closed on things.

python tools/draw_hands.py [--out docs/_static/hands.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PolyCollection

import posable as ps
import posable.math as pm
from posable.studio.view.skin import skin_of

ROOT = Path(__file__).resolve().parents[1]
NAMED = ("open", "relaxed", "fist", "point", "pinch")
HELD = (("rod of 2 cm", "rod", 0.02), ("ball of 3.5 cm", "ball", 0.035), ("ball of 6 cm", "ball", 0.06))
VIEWS = {"palm": (-90.0, 0.0), "side": (0.0, 0.0), "back": (90.0, 0.0)}
SKIN = np.array([0.90, 0.80, 0.71])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs/_static/hands.png")
    out = parser.parse_args().out
    body = ps.figure(fingers=True)
    posture = body.canonical(body.neutral_pose)
    pose = body.pose(posture.rotated(left_upper_arm=pm.axis_angle([0, 0, 1], 1.5)), base=body.neutral_pose)
    columns = [(name, body.pose_hand(pose, "left", name), None) for name in NAMED]
    for title, kind, radius in HELD:
        scene, centre = held(body, pose, kind, radius)
        columns.append((title, body.close_hand(pose, "left", scene).pose, (kind, centre, radius)))
    figure, axes = plt.subplots(len(VIEWS), len(columns), figsize=(1.5 * len(columns), 6.0))
    for k, (title, posed, thing) in enumerate(columns):
        triangles, to_hand = hand_triangles(body, posed)
        for row, (yaw, pitch) in enumerate(VIEWS.values()):
            draw(axes[row, k], triangles, view(yaw, pitch), thing, to_hand)
        axes[0, k].set_title(title, fontsize=9)
    figure.tight_layout(pad=0.2)
    figure.savefig(out, dpi=110)


def held(body: ps.Humanoid, pose: ps.Pose, kind: str, radius: float) -> tuple[ps.Scene, np.ndarray]:
    """A scene with a thing in the left palm, and where its middle is."""
    frames, hand = body.skeleton.forward(pose), body.index("left_hand")
    turn = frames.orientations[hand]
    centre = frames.positions[hand] + pm.rotate(turn, [-0.0185 - radius, -0.085, 0.0])
    scene = ps.Scene()
    if kind == "rod":
        scene.capsule("rod", radius, 0.3, centre, pm.multiply(turn, pm.axis_angle([1, 0, 0], np.pi / 2)))
    else:
        scene.sphere("ball", radius, centre)
    return scene, centre


def hand_triangles(body: ps.Humanoid, pose: ps.Pose):
    """Triangles (T, 3, 3) of the left hand seen from it [m], and the function that takes points there."""
    skin, frames = skin_of(body.volumes, body.skeleton, body), body.skeleton.forward(pose)
    points = frames.positions[skin.joints] + pm.rotate(frames.orientations[skin.joints], skin.vertices)
    vertices = (points * skin.weights[..., None]).sum(axis=1)
    hand = body.index("left_hand")
    turn, wrist = pm.conjugate(frames.orientations[hand]), frames.positions[hand]

    def to_hand(points: np.ndarray) -> np.ndarray:
        return pm.rotate(turn, points - wrist)

    seen = to_hand(vertices)
    near = np.linalg.norm(seen - [0.0, -0.09, 0.0], axis=1) < 0.15
    return seen[skin.faces[near[skin.faces].all(axis=1)]], to_hand


def view(yaw: float, pitch: float) -> np.ndarray:
    a, b = np.radians([yaw, pitch])
    about_y = np.array([[np.cos(a), 0, -np.sin(a)], [0, 1, 0], [np.sin(a), 0, np.cos(a)]])
    return np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]]) @ about_y


def draw(ax, triangles: np.ndarray, camera: np.ndarray, thing, to_hand) -> None:
    seen = triangles @ camera.T
    normals = np.cross(seen[:, 1] - seen[:, 0], seen[:, 2] - seen[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-15)
    front = normals[:, 2] > 0.0
    order = np.argsort(seen[front][:, :, 2].mean(axis=1))
    light = 0.35 + 0.65 * np.clip(normals[front] @ (np.array([0.3, 0.5, 0.8]) / 0.99), 0.0, 1.0)
    colours = light[order][:, None] * SKIN
    ax.add_collection(
        PolyCollection(seen[front][order][:, :, :2], facecolors=colours, edgecolors=colours, linewidths=0.2)
    )
    if thing is not None:
        kind, centre, radius = thing
        middle = camera @ to_hand(centre)
        if kind == "ball" or abs(camera[2, 2]) > 0.9:
            ax.add_patch(plt.Circle(middle[:2], radius, fill=False, color="tab:blue"))
        else:
            ax.add_patch(plt.Rectangle(middle[:2] - [0.1, radius], 0.2, 2 * radius, fill=False, color="tab:blue"))
    ax.set_xlim(-0.11, 0.11)
    ax.set_ylim(-0.215, 0.05)
    ax.set_aspect("equal")
    ax.axis("off")


if __name__ == "__main__":
    main()
