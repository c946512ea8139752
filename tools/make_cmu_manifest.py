"""Makes `src/posable/assets/cmu_clips.json`, the list behind `posable data`, from the data set's own `clips.csv`.

    python tools/make_cmu_manifest.py FOLDER_WITH_CLIPS_CSV

The list holds facts about the clips (what, how long, how fast, which hash), not the clips. Hashes are computed from
the clips where they lie beside the table, and must agree with it.
"""

import csv
import hashlib
import json
import sys
from pathlib import Path

COMMIT = "09a07f54f3bbb58797325f009282d0b2048a2871"
TARGET = Path(__file__).resolve().parent.parent / "src" / "posable" / "assets" / "cmu_clips.json"


def main(folder: Path) -> None:
    with (folder / "clips.csv").open(encoding="utf-8", newline="") as file:
        clips = [_clip(row, folder) for row in csv.DictReader(file)]
    clips.sort(key=lambda clip: tuple(int(part) for part in clip["clip"].split("_")))
    manifest = {
        "made_by": "tools/make_cmu_manifest.py from the data set's clips.csv",
        "database": "Carnegie Mellon University Graphics Lab Motion Capture Database, mocap.cs.cmu.edu",
        "conversion": "Bruce Hahne, MotionBuilder-friendly BVH conversion, 2010",
        "terms": "Free for use, also in products; the data themselves may not be resold, even converted. "
        "The database was created with funding from NSF EIA-0196217.",
        "url": f"https://raw.githubusercontent.com/una-dinosauria/cmu-mocap/{COMMIT}/data/",
        "clips": clips,
    }
    TARGET.write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(clips)} clips -> {TARGET}")


def _clip(row: dict[str, str], folder: Path) -> dict[str, object]:
    path = folder / f"{row['clip']}.bvh"
    if path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() != row["sha256"]:
        raise SystemExit(f"{path}: its hash is not the table's")
    return {
        "clip": row["clip"],
        "description": row["cmu_description"],
        "frames": int(row["frames_file"]),
        "fps": int(row["fps_true"]),
        "bytes": int(row["size"]),
        "sha256": row["sha256"],
    }


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]))
