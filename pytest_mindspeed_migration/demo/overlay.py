"""Puts the InternVL3.5 migration of the demo on a checkout of MindSpeed-MM, unchanged.

    python -m pytest_mindspeed_migration.demo.overlay CHECKOUT [--lang en|zh]

The migration is the worked case: what runs on the demo's small framework runs on the real one. Nothing of the
framework is touched, and no file that says something else than the migration's own is overwritten.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..errors import UsageProblem
from ..messages import LANGUAGES, text
from . import demo_repo

PATHS = (
    "mindspeed_mm/fsdp/models/internvl3_5",
    "mindspeed_mm/fsdp/data/datasets/internvl3_5",
    "examples/internvl3_5",
    "ckpt/hf_path/InternVL3_5-tiny",
    "data/internvl3_5",
)
"""Folders of the demo repo that are the migration; everything beside them is the framework."""

MANIFEST = "examples/internvl3_5/migration.yaml"
SHOWN = 5


def overlay_files(source: Path | None = None) -> list[str]:
    """Return the files of the migration, relative to the root of a repo, sorted.

    Args:
        source: a repo that has them; the demo repo by default.
    """
    root = source or demo_repo()
    files = (file for path in PATHS for file in (root / path).rglob("*"))
    return sorted(file.relative_to(root).as_posix() for file in files if _belongs(file))


def apply_overlay(checkout: Path, source: Path | None = None) -> list[str]:
    """Copy the migration onto a checkout; return the files that were not there before.

    All files are compared first: when one is refused, none is written.

    Args:
        checkout: root of the repo to copy onto.
        source: the repo to copy from; the demo repo by default.

    Raises:
        UsageProblem: the folder is no checkout with the FSDP2 backend, or holds another file, or a link that leads
            out of it, where one of the migration belongs.
        OSError: a file cannot be written.
    """
    root = source or demo_repo()
    if not (checkout / "mindspeed_mm" / "fsdp").is_dir():
        raise UsageProblem("overlay.not_a_checkout", folder=str(checkout))
    files = overlay_files(root)
    taken = [name for name in files if not _is_free(checkout, name, (root / name).read_bytes())]
    if taken:
        more = f", ... ({len(taken)})" if len(taken) > SHOWN else ""
        raise UsageProblem("overlay.taken", folder=str(checkout), files=", ".join(taken[:SHOWN]) + more)
    new = [name for name in files if not (checkout / name).exists()]
    for name in new:
        _write(checkout / name, (root / name).read_bytes())
    return new


def _belongs(file: Path) -> bool:
    return file.is_file() and "__pycache__" not in file.parts


def _is_free(checkout: Path, name: str, content: bytes) -> bool:
    """Whether `name` can be written, or need not be: nothing is there, or the same text."""
    place = checkout / name
    if not place.resolve().is_relative_to(checkout.resolve()):
        return False
    if any(parent.exists() and not parent.is_dir() for parent in place.parents):
        return False
    return not place.exists() or (place.is_file() and place.read_bytes() == content)


def _write(place: Path, content: bytes) -> None:
    """Write a file whole or not at all: half of one would be refused the next time, as somebody else's."""
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f".{place.name}.part")
    try:
        part.write_bytes(content)
        part.replace(place)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return 0, or 4 for a checkout that cannot take the migration."""
    parser = argparse.ArgumentParser(
        prog="python -m pytest_mindspeed_migration.demo.overlay", description=text("overlay.about", {})
    )
    parser.add_argument("checkout", type=Path, help=text("overlay.checkout", {}))
    parser.add_argument("--lang", choices=LANGUAGES, default="en")
    options = parser.parse_args(arguments)
    try:
        new = apply_overlay(options.checkout)
    except UsageProblem as problem:
        print(problem.render(options.lang), file=sys.stderr)
        return 4
    except OSError as error:
        print(text("overlay.not_written", {"detail": str(error)}, options.lang), file=sys.stderr)
        return 4
    manifest = options.checkout / MANIFEST
    print(text("overlay.done", {"new": len(new), "total": len(overlay_files())}, options.lang))
    print(text("overlay.next", {"manifest": str(manifest)}, options.lang))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
