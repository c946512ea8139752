"""A motion put on four characters: feet on the floor, hands where they belong, whatever the proportions.

The characters are read from $POSABLE_DATA; without it, four figures of other sizes and proportions stand in for them.
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np

import posable as ps
from posable.render import Player, portrait, save_picture

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
FOLDER = Path(os.environ.get("POSABLE_DATA", "")) / "characters"
FILES = {"Cesium Man": "CesiumMan.glb", "Rigged Figure": "RiggedFigure.glb", "Knight": "KayKit_Knight.glb"}

source = ps.figure()
dance = ps.samples.dance(source, duration=4.0)[::2]

characters = {"tall": ps.figure(2.0)}
if FOLDER.is_dir():
    characters |= {name: ps.Humanoid(ps.load(FOLDER / file).skeleton) for name, file in FILES.items()}
else:
    characters |= {"child": ps.figure(1.2, thigh=0.26), "teen": ps.figure(1.5), "long arms": ps.figure(upper_arm=0.38)}

motions = []
for name, body in characters.items():
    solution = ps.retarget(dance, source, body)
    print(f"{name}: {solution.ok.sum()} of {len(dance)} frames meet everything")
    print(f"  feet that stand slide by {1000 * solution.slid.max():.1f} mm at most")
    motions.append(solution.motion.replace(name=name))

pictures = [portrait(motion, motion[60], size=(260, 380)) for motion in motions]
save_picture(np.concatenate(pictures, axis=1), OUT / "08_four_characters.png")
ps.save(motions[-1], OUT / "08_four_characters.glb")
Player(*motions, title="One dance, four characters").save(OUT / "08_four_characters.html")
