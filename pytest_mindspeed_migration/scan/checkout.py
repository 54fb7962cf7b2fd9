"""Commit and state of the target's checkout."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from ..facts.target import RepoFacts


def repo_facts(repo: Path) -> RepoFacts:
    """Commit and state of the checkout, and what is wrong when it is not a MindSpeed-MM checkout."""
    if not os.path.isdir(repo / "mindspeed_mm" / "fsdp"):
        return RepoFacts(problem="not_mindspeed_mm")
    answer = _git(repo, "rev-parse", "HEAD", "--show-toplevel")
    head, _, top = (answer or "").partition("\n")
    if not top or Path(top).resolve() != repo.resolve():
        return RepoFacts()
    return RepoFacts(commit=head, dirty=bool(_git(repo, "status", "--porcelain", "--untracked-files=no")))


def _git(repo: Path, *arguments: str) -> str | None:
    try:
        run = subprocess.run(
            ["git", "-C", str(repo), *arguments], capture_output=True, text=True, timeout=10, errors="replace"
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return run.stdout.strip() if run.returncode == 0 else None
