"""Contacts that were marked by hand, and how well others agree with them."""

import json
from pathlib import Path

import numpy as np

import posable as ps
from posable.edit import find_contacts
from posable.edit.clip import read_clip

MARKED = json.loads((Path(__file__).parent / "marked_contacts.json").read_text(encoding="utf-8"))["clips"]
PARTS = ("left_foot", "left_toes", "right_foot", "right_toes")
TOLERANCE = 2 / 60  # [s]: nobody can tell the ends of a contact to the frame


def agreement(name, folder, every=1):
    """Compare the contacts found in a clip, of which only each `every`-th frame is given, with those marked.

    A frame that was found is right where it is marked or within `TOLERANCE` of a mark; a mark that is as far inside of
    its contact must be found, or the middle one where the contact is shorter.

    Returns:
        (4, 4) for each part: frames found, those that are right, frames marked, those that were found.
    """
    motion = ps.load(folder / f"{name}.bvh", repair="cmu", first_frame=1)
    found = frames_of(motion[::every])
    marks, counts = MARKED[name], np.zeros((len(PARTS), 4), int)
    begin, end = marks["frames"]
    wide = round(TOLERANCE * motion.fps)
    for row, part in enumerate(PARTS):
        near, inside = np.zeros((2, len(motion)), bool)
        for first, last in marks[part]:
            near[max(first - wide, 0) : last + wide + 1] = True
            sure = (first if first == begin else first + wide, last if last == end else last - wide)
            sure = sure if sure[0] <= sure[1] else ((first + last) // 2,) * 2
            inside[sure[0] : sure[1] + 1] = True
        shown = np.repeat(found[part], every)[: len(motion)]
        seen = slice(begin, end + 1)
        counts[row] = [sum(rows[seen]) for rows in (shown, shown & near, inside, inside & shown)]
    return counts


def frames_of(motion, body=None):
    """Return the frames (F,) in which each part of the feet is on the ground, by part."""
    body = ps.Humanoid(motion.skeleton) if body is None else body
    found = {part: np.zeros(len(motion), bool) for part in PARTS if part in body.roles}
    for contact in find_contacts(read_clip(motion, body), hands=False):
        found[contact.part][contact.first : contact.last + 1] = True
    return found


def precision_and_recall(counts):
    """Return the fraction of frames found that are right, and of marked frames that were found."""
    found, right, marked, hit = counts.reshape(-1, 4).sum(axis=0)
    return right / found, hit / marked
