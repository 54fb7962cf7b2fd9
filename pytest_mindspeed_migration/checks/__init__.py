"""Checks: pure functions of facts that return findings. All knowledge of right and wrong is here and in `contracts/`."""
