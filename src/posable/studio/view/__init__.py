"""Everything drawn in the scene: the stage, bodies on it, colours and obstacles."""
