"""Limbs of a body: between a limb in its own frame and poses of the body in the world."""
