"""Files and folders outside the code that a migration needs, as they were found on the machine of the scan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class AssetFacts:
    """One path of the manifest, the command line or a config, as a run would open it.

    `StaticFacts.assets` holds these by where they are written: `manifest:runtime_assets.model_path` (of several
    manifests `manifest[0]:...`, in the order of the command line),
    `config:examples/x/x.yaml:model.model_name_or_path`.
    """

    path: str  # as written
    exists: bool = False
    is_dir: bool = False
    readable: bool = False
    size: int = 0  # bytes of a file, number of entries of a folder
    problem: str | None = None  # the operating system's words
    line: int | None = None  # where the path is written
    kind: str = "path"  # "pattern" for a glob, of which nothing is known
