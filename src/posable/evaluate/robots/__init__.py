"""How well a robot's motion is a person's: measures that anyone's retargeting can be held to.

They see two motions, the person's and the robot's, and nothing of how the second was made: `motions` puts them side by
side, `key_points` says how alike the postures are, `footing` how feet stand, `touching` what goes through what, and
`motors` what is asked of the joints. `measures` puts all of it into one record.
"""

from __future__ import annotations

from .measures import RetargetMeasures, evaluate_retarget, retarget_table

__all__ = ["RetargetMeasures", "evaluate_retarget", "retarget_table"]
