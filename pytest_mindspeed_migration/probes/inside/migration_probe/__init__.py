"""Probes: each does one thing with the target's code and says what happened. Runs on Python 3.9 and later."""
