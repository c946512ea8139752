"""`LimbRange`: what a limb can do, learned from example poses (Mukai)."""
