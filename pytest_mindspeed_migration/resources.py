"""Where the catalogue (`contracts/`) and the templates (`generators/`) are, in a checkout as in a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def resource_dir(name: str) -> Path:
    """Return the folder `name` ("contracts" or "generators") of this installation.

    A wheel carries both inside the package; a checkout and an editable install keep them beside it.

    Raises:
        FileNotFoundError: when neither place has it, which means a broken installation.
    """
    for candidate in (_PACKAGE / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"the installation of pytest-mindspeed-migration lacks its {name!r} folder")
