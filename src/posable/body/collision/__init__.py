"""Volumes of a body, what its limbs keep out of, and how clear it is of itself and of a scene."""
