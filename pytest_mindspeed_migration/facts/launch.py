"""Launch scripts and documents of the target repo as facts."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class PathReference:
    """A path of this repo that a script or a document names. `exists` is None when it cannot be decided."""

    path: str
    line: int
    exists: bool | None
    kind: str = "other"  # "config", "trainer", "script", "data", "other"


@dataclass
class CommandFacts:
    """One launch command after substitution of the script's own variables."""

    line: int
    launcher: str  # "torchrun", "python", "msrun", ...
    program: str | None  # path of the Python program it starts
    config: str | None  # the YAML handed to it
    options: dict[str, str] = field(default_factory=dict)  # launcher options, "--nproc_per_node" -> "16"
    repeated_options: dict[str, list[str]] = field(default_factory=dict)  # option given more than once -> its values
    arguments: list[str] = field(default_factory=list)  # of the program


@dataclass
class ScriptFacts:
    """A `*.sh` file: its variables, exported environment, launch commands and the repo paths it names."""

    path: str
    variables: dict[str, str] = field(default_factory=dict)
    filled: list[str] = field(default_factory=list)  # variables a `for`, `read` or `getopts` fills while it runs
    environment: dict[str, str] = field(default_factory=dict)
    commands: list[CommandFacts] = field(default_factory=list)
    references: list[PathReference] = field(default_factory=list)
    log_writes: dict[str, int] = field(default_factory=dict)  # file written by tee or redirection -> line
    log_reads: dict[str, int] = field(default_factory=dict)  # file read back by grep/cat/tail -> line
    not_executable: dict[str, int] = field(default_factory=dict)  # file run by its path alone, without the bit -> line
    external: bool = False  # runs inside another project's checkout
    problem: str | None = None  # unreadable, not text


@dataclass
class CopyInstruction:
    """`cp`/`ln` of a README: a file or folder the user is told to bring into the repo."""

    destination: str  # relative to the repo
    names: list[str]  # file or folder names that arrive there
    line: int
    sources: list[str] = field(default_factory=list)  # where they come from, as written


@dataclass
class DocFacts:
    """A README or guide: repo paths it names, files it tells the user to copy in, package versions it asks for."""

    path: str
    references: list[PathReference] = field(default_factory=list)
    copies: list[CopyInstruction] = field(default_factory=list)
    requirements: dict[str, str] = field(default_factory=dict)  # package -> version specifier as written
    requirement_lines: dict[str, int] = field(default_factory=dict)
