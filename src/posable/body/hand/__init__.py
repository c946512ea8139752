"""Fingers: their canonical frames, the shapes of a hand, and closing a hand on what it holds."""
