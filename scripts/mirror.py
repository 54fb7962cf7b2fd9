"""Revisions of a bare git mirror as plain folders."""

from __future__ import annotations

import subprocess
from pathlib import Path

SKIPPED = ("*.png", "*.gif", "*.jpg", "*.jpeg", "*.mp4", "*.wav")
"""Media that a mirror may lack; no check reads them."""


def extract(mirror: Path, revision: str, target: Path) -> None:
    """Check one revision out of a bare mirror into a new folder."""
    command = ["git", f"--git-dir={mirror}", "archive", revision, "--", *(f":(exclude){name}" for name in SKIPPED)]
    target.mkdir(parents=True, exist_ok=True)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as archive:
        subprocess.run(["tar", "x", "-C", str(target)], stdin=archive.stdout, check=True)


def commit(mirror: Path, revision: str) -> str:
    """Full hash of a revision."""
    done = subprocess.run(
        ["git", f"--git-dir={mirror}", "rev-parse", revision], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
