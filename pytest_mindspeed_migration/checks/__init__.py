"""Checks: pure functions of facts that return findings. What is right or wrong is known here and in `contracts/`."""
