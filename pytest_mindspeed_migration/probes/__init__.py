"""Runs code of the target, in the target's own interpreter, and brings back facts. Nothing else does."""
