"""The embedded demo repo: a small clean-room `mindspeed_mm/fsdp` with a finished InternVL3.5 migration.

It is what `--migrate-repo=demo` judges, so that a first run and CI need no checkout and no download. It has the
interfaces of MindSpeed-MM 26.1, and none of its code.
"""

from __future__ import annotations

from pathlib import Path


def demo_repo() -> Path:
    """Return the folder of the demo repo: a target repo like any other, to be read and not written to.

    Raises:
        FileNotFoundError: when the installation lacks it.
    """
    repo = Path(__file__).resolve().parent / "repo"
    if not (repo / "mindspeed_mm" / "fsdp").is_dir():
        raise FileNotFoundError("the installation of pytest-mindspeed-migration lacks its demo repo")
    return repo
