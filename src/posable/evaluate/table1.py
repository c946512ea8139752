"""Table 1 of Unzueta et al. 2008, and the clips it is about (specification reconstruct, section 1)."""

from __future__ import annotations

CLIPS = {"17_10": "boxing", "90_05": "jump kick", "01_03": "playground"}
"""Names in the CMU database."""

WEIGHTS: dict[str, tuple[float, float, float]] = {
    "17_10": (1.0, 1.0, 0.0),
    "90_05": (1.0, 1.0, 0.0),
    "01_03": (0.1, 0.1, 1.0),
}
"""What the paper set for the pelvis of each clip (section 9)."""

PAPER: dict[str, dict[str, tuple[float, float, float]]] = {
    "position": {
        "kma": (0.0281, 0.0256, 0.0295),
        "ccd": (0.0316, 0.0292, 0.0275),
        "pseudoinverse": (0.0303, 0.0260, 0.0275),
        "dls": (0.0325, 0.0291, 0.0256),
        "dls_svd": (0.0325, 0.0293, 0.0257),
        "sdls": (0.0293, 0.0245, 0.0265),
        "pik": (0.0283, 0.0247, 0.0240),  # the printed average, 0.0264, is not their mean, 0.0257 (erratum 17)
        "sik": (0.0265, 0.0213, 0.0261),
        "tgbsik": (0.0312, 0.0208, 0.0266),
    },
    "orientation": {
        "kma": (0.2524, 0.3175, 0.3452),
        "ccd": (0.4376, 0.4651, 0.4606),
        "pseudoinverse": (0.3157, 0.3413, 0.3786),
        "dls": (0.3115, 0.3331, 0.3492),
        "dls_svd": (0.3113, 0.3336, 0.3495),
        "sdls": (0.3060, 0.3119, 0.3626),
        "pik": (0.3256, 0.3447, 0.3472),
        "sik": (0.2508, 0.2849, 0.3469),
        "tgbsik": (0.2937, 0.2912, 0.3475),
    },
    "milliseconds": {
        "kma": (1.11, 1.02, 1.13),
        "ccd": (0.87, 1.02, 0.78),
        "pseudoinverse": (17.46, 22.36, 14.87),
        "dls": (11.45, 8.31, 8.28),
        "dls_svd": (20.63, 15.71, 14.42),
        "sdls": (15.38, 17.09, 12.82),
        "pik": (28.56, 39.54, 28.40),
        "sik": (0.44, 0.45, 0.43),
        "tgbsik": (1.89, 1.92, 1.90),
    },
}
"""By measure and method: boxing, jump kick, playground. Position errors of the height, orientations in radians, times
on a Pentium 4 of 2.66 GHz. The Jacobian transpose is in Figure 14 alone."""
