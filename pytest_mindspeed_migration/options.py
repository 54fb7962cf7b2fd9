"""Command line options and ini keys, and what they say together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import UsageProblem

if TYPE_CHECKING:
    import pytest

_CHOICES = {"level": ("auto", "static", "cpu", "npu"), "lang": ("en", "zh"), "device": ("npu", "cpu")}

# name, metavar (None: a switch), has an ini key, help
_OPTIONS: tuple[tuple[str, str | None, bool, str], ...] = (
    ("target", "NAME[,NAME...]|all", True, "judge these migration targets; a name is a folder, a config or a model_id"),
    (
        "repo",
        "PATH|demo",
        True,
        "the MindSpeed-MM checkout (default: the rootdir, if it is one, or the manifest's)",
    ),
    ("level", "|".join(_CHOICES["level"]), True, "how far to go; auto (default) is as far as this machine allows"),
    ("manifest", "FILE", True, "migration.yaml, the standard input of a migration; once for each of several"),
    ("model-path", "PATH", True, "checkpoint of the model; overrides runtime_assets.model_path of the manifest"),
    ("dataset-path", "PATH", True, "training data; overrides runtime_assets.dataset_path of the manifest"),
    ("image-root", "PATH", True, "folder of the media files; overrides runtime_assets.image_root of the manifest"),
    ("python", "PATH", True, "the target's interpreter, for level cpu (default: the running one)"),
    ("pythonpath", "DIR[:DIR...]", True, "folders for the target's import path, such as a MindSpeed checkout"),
    ("timeout", "SECONDS", True, "time limit of one probe, and of one step of a training run (default: 600)"),
    ("nproc", "N", True, "ranks of the rehearsal (default: 2)"),
    ("steps", "N", True, "training steps: of the rehearsal (default: 5), of the run on devices (default: 100)"),
    (
        "device",
        "|".join(_CHOICES["device"]),
        True,
        "where verify.distributed_e2e runs: npu (default); cpu tries it out",
    ),
    (
        "base",
        "REV",
        True,
        "git revision the migration started from: what changed since is listed and has to be editable",
    ),
    ("out", "DIR", True, "where reports and evidence go (default: migration-report)"),
    ("sarif", "FILE", True, "write the findings to FILE as SARIF 2.1.0, for code scanning"),
    ("generate", "DIR", False, "write the test suites of the targets into DIR, to keep in a repo, and stop"),
    ("list", None, False, "list targets and contracts, and stop"),
    ("explain", "CONTRACT", False, "say what a contract proves, why, and how to fix it, and stop"),
    ("triage", "LOG", False, "say what broke the run that wrote LOG, and stop; exit status 1 when it failed"),
    ("errors", "FILE", True, "your own error dictionary, in front of the one that ships"),
    ("lang", "en|zh", True, "language of messages and reports (default: en)"),
    ("export-facts", "FILE", False, "write the facts read from the repo to FILE (without a target: and stop)"),
    (
        "facts",
        "FILE",
        True,
        "judge exported facts; with --migrate-repo too, its YAML and scripts replace those of FILE",
    ),
    ("require-accepted", None, False, "exit non-zero unless every target is accepted"),
)

_REPEATED = ("manifest",)
"""May be given more than once; as an ini key, one a line."""

# what a recheck needs to judge the same thing in the same way
_RECHECKED = (
    "repo",
    "facts",
    "manifest",
    "model-path",
    "dataset-path",
    "image-root",
    "python",
    "pythonpath",
    "timeout",
    "nproc",
    "steps",
    "device",
    "errors",
    "base",
    "lang",
)

_INI_ONLY = (("migrate_suite", "folder of generated suites that run instead of freshly rendered ones"),)


def add_options(parser: pytest.Parser) -> None:
    """Add the option group and the ini keys."""
    group = parser.getgroup("migrate", "MindSpeed-MM FSDP2 migration contracts")
    for name, metavar, ini, text in _OPTIONS:
        dest = "migrate_" + name.replace("-", "_")
        if metavar is None:
            group.addoption(f"--migrate-{name}", dest=dest, action="store_true", default=None, help=text)
        else:
            action = "append" if name in _REPEATED else "store"
            group.addoption(f"--migrate-{name}", dest=dest, metavar=metavar, default=None, help=text, action=action)
        if ini:
            parser.addini(dest, f"same as --migrate-{name}", type="string", default=None)
    for key, text in _INI_ONLY:
        parser.addini(key, text, type="string", default=None)


def active(config: pytest.Config) -> bool:
    """Whether any option or ini key asks for this plugin."""
    for name, _, ini, _ in _OPTIONS:
        dest = "migrate_" + name.replace("-", "_")
        if config.getoption(dest, None) is not None or (ini and config.getini(dest)):
            return True
    return any(config.getini(key) for key, _ in _INI_ONLY)


@dataclass(frozen=True)
class Options:
    """What the user asked for. Paths are absolute; `*_typed` are as written, for commands shown to the user."""

    targets: tuple[str, ...]
    repo: Path | None
    repo_typed: str | None
    demo: bool
    level: str
    manifests: tuple[Path, ...]
    assets: dict[str, str]
    out: Path
    lang: str
    facts: Path | None
    export_facts: Path | None
    generate: Path | None
    suite: Path | None
    explain: str | None
    triage: Path | None
    errors: Path | None
    base: str | None
    sarif: Path | None
    list_all: bool
    require_accepted: bool
    typed: tuple[str, ...]
    python: str | None = None
    pythonpath: tuple[Path, ...] = ()
    timeout: float = 600.0
    nproc: int = 2
    steps: int | None = None
    device: str = "npu"
    levels: tuple[str, ...] = ("static",)
    """Levels that are judged in this run: what was asked for, as far as this machine allows."""


def read(config: pytest.Config) -> Options:
    """Read options and ini keys.

    Raises:
        UsageProblem: for a value that is not possible.
    """
    values = _Values(config)
    lang = values.choice("lang", "en")
    level = values.choice("level", "auto")
    target = values.given("target")
    names = tuple(part.strip() for part in (target or "").split(",") if part.strip())
    if target is not None and not names:
        raise UsageProblem("usage.target_empty")
    repo = values.given("repo")
    demo = repo == "demo"
    manifests = values.files("manifest")
    return Options(
        targets=names,
        repo=None if demo else values.path("repo") or _repo_around(config) or _repo_of(manifests),
        repo_typed=repo,
        demo=demo,
        level=level,
        manifests=manifests,
        assets={
            key: str(path)
            for key in ("model_path", "dataset_path", "image_root")
            if (path := values.path(key.replace("_", "-")))
        },
        out=values.path("out") or config.invocation_params.dir / "migration-report",
        lang=lang,
        facts=values.path("facts"),
        export_facts=values.path("export-facts"),
        generate=values.path("generate"),
        suite=values.ini_path("migrate_suite"),
        explain=values.given("explain"),
        triage=values.path("triage"),
        errors=values.path("errors"),
        base=values.given("base"),
        sarif=values.path("sarif"),
        list_all=bool(values.given("list")),
        require_accepted=bool(values.given("require-accepted")),
        typed=values.typed(),
        python=values.program("python"),
        pythonpath=values.paths("pythonpath"),
        timeout=values.seconds("timeout", 600.0),
        nproc=values.count("nproc") or 2,
        steps=values.count("steps"),
        device=values.choice("device", "npu"),
    )


class _Values:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._ini = {"migrate_" + name.replace("-", "_") for name, _, ini, _ in _OPTIONS if ini}

    def given(self, name: str) -> Any:
        dest = "migrate_" + name.replace("-", "_")
        value = self._config.getoption(dest, None)
        return value if value is not None else (self._from_ini(dest) if dest in self._ini else None)

    def choice(self, name: str, default: str) -> str:
        value: str = self.given(name) or default
        if value not in _CHOICES[name]:
            from .findings import near

            raise UsageProblem(
                "usage.choice",
                option=f"--migrate-{name}",
                value=value,
                choices=", ".join(_CHOICES[name]),
                hint=did_you_mean(near(value, _CHOICES[name])),
            )
        return value

    def path(self, name: str) -> Path | None:
        """An option's path is relative to where pytest was started, an ini key's to the ini file."""
        dest = "migrate_" + name.replace("-", "_")
        value = self._config.getoption(dest, None)
        if value is None:
            return self.ini_path(dest) if dest in self._ini else None
        if not value or "\0" in value:
            raise UsageProblem("usage.path_empty", option=f"--migrate-{name}")
        return _absolute(self._config.invocation_params.dir, value)

    def files(self, name: str) -> tuple[Path, ...]:
        """Paths as `path` reads one, of an option that may be given more than once."""
        dest = "migrate_" + name.replace("-", "_")
        given = self._config.getoption(dest, None)
        if given is None:
            lines = (self._from_ini(dest) or "").splitlines()
            return tuple(_absolute(self._ini_folder(), line.strip()) for line in lines if line.strip())
        if not all(value and "\0" not in value for value in given):
            raise UsageProblem("usage.path_empty", option=f"--migrate-{name}")
        return tuple(_absolute(self._config.invocation_params.dir, value) for value in given)

    def ini_path(self, key: str) -> Path | None:
        value = self._from_ini(key)
        return _absolute(self._ini_folder(), value) if value else None

    def _ini_folder(self) -> Path:
        return self._config.inipath.parent if self._config.inipath else self._config.rootpath

    def program(self, name: str) -> str | None:
        """A path as `path` reads it; a name without a slash is looked up when it is started."""
        value = self.given(name)
        if value is None or (value and os.sep not in value and "\0" not in value):
            return str(value) if value else None
        return str(self.path(name))

    def paths(self, name: str) -> tuple[Path, ...]:
        value = self.given(name)
        base = self._config.invocation_params.dir
        return tuple(_absolute(base, part) for part in str(value or "").split(os.pathsep) if part and "\0" not in part)

    def seconds(self, name: str, default: float) -> float:
        value = self.given(name)
        try:
            number = default if value is None else float(value)
        except ValueError:
            number = -1.0
        if not 0 < number < float("inf"):
            raise UsageProblem("usage.seconds", option=f"--migrate-{name}", value=str(value))
        return number

    def count(self, name: str) -> int | None:
        value = self.given(name)
        if value is None:
            return None
        if not str(value).isdecimal() or int(value) < 1:
            raise UsageProblem("usage.count", option=f"--migrate-{name}", value=str(value))
        return int(value)

    def typed(self) -> tuple[str, ...]:
        """The options a recheck needs, as they were typed."""
        words = []
        for name in _RECHECKED:
            value = self._config.getoption("migrate_" + name.replace("-", "_"), None)
            values = value if isinstance(value, list) else [] if value is None else [value]
            words += [f"--migrate-{name}={one}" for one in values]
        return tuple(words)

    def _from_ini(self, key: str) -> str | None:
        return self._config.getini(key) or None


def _absolute(base: Path, value: str) -> Path:
    return (base / os.path.expanduser(value)).absolute()  # an unknown `~name` stays as it is


def did_you_mean(name: str | None) -> str:
    """The end of an English or Chinese sentence that names a near candidate; empty when there is none."""
    return f" ({name}?)" if name else ""


def _repo_around(config: pytest.Config) -> Path | None:
    root = Path(config.rootpath)
    return root if os.path.isdir(root / "mindspeed_mm" / "fsdp") else None


def _repo_of(manifests: Sequence[Path]) -> Path | None:
    """The checkout that a manifest names: those of one run name the same, or none."""
    from .manifest import load_manifest

    for path in manifests:
        named = None
        with suppress(UsageProblem):  # said once something is to be judged
            named = load_manifest(path).get("target_repo_path")
        if isinstance(named, str):
            repo = path.parent / os.path.expanduser(named)
            return repo if os.path.isdir(repo / "mindspeed_mm") else None
    return None
