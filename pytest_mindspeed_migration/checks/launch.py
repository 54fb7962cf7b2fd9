"""Launch scripts and documents: that what they name exists, and that a script says one thing only."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator

from ..facts.launch import CommandFacts, DocFacts, PathReference, ScriptFacts
from ..facts.static import StaticFacts
from ..findings import Finding, Level, near
from .registry import check
from .view import TargetView

_MISSING = {"config": "launch.config_missing", "trainer": "launch.program_missing", "script": "launch.script_missing"}
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_SAME_WORD = 0.85  # NNODE and NNODES, not NODE_RANK and NODE_NUM
_QUORUM = 3  # so many other scripts have to agree before a difference is worth a word


@check("config.launch_script")
def scripts_start_what_exists(view: TargetView) -> list[Finding]:
    """Each launch script names a YAML, a program and data files that are in the repo."""
    scripts = _scripts(view)
    copied = _copied(view.facts)
    found: list[Finding] = []
    for script in scripts:
        if script.problem is not None and not view.is_framework:
            found.append(Finding("launch.script_problem", {"problem": script.problem}, path=script.path))
        found.extend(_missing(view.facts, script.path, script.references, copied, "error"))
    if not scripts and view.config is not None:
        found.append(Finding("launch.no_script", path=view.target.folder, severity="note"))
    return found


@check("config.launch_script")
def programs_can_be_run(view: TargetView) -> list[Finding]:
    """A file that a script runs by its path alone, without `python` or `bash`, is executable."""
    return [
        Finding("launch.not_executable", path=script.path, line=line, value=path)
        for script in _scripts(view)
        for path, line in script.not_executable.items()
    ]


@check("config.launch_script")
def documents_name_what_exists(view: TargetView) -> list[Finding]:
    """The repo files a README or guide names exist.

    A README belongs to a folder, not to one config of it: a dead path there is an error of the framework's documents
    and a note of the target.
    """
    docs: Iterable[DocFacts] = view.facts.docs.values() if view.is_framework else view.docs
    severity: Level = "error" if view.is_framework else "note"
    copied = _copied(view.facts)
    return [
        finding
        for doc in docs
        for finding in _missing(view.facts, doc.path, doc.references, copied, severity, doc=True)
    ]


@check("config.launch_script")
def logs_are_read_where_written(view: TargetView) -> list[Finding]:
    """A script that evaluates its own log reads the file it wrote."""
    found = []
    for script in _scripts(view):
        if not script.log_writes or not script.commands:
            continue
        for path, line in script.log_reads.items():
            if path in script.log_writes or _clean(path) in map(_clean, script.log_writes):
                continue
            written = near(path, script.log_writes, 0.0) or next(iter(script.log_writes))
            args = {"written": script.log_writes[written]}
            found.append(
                Finding("launch.log_mismatch", args, path=script.path, line=line, value=path, expected=written)
            )
    return found


@check("config.launch_script")
def launcher_options_are_single(view: TargetView) -> list[Finding]:
    """A launcher option stands once: the last one wins, so two values hide a mistake; one value twice is harmless."""
    found = []
    for script, command in _commands(view):
        for option, values in command.repeated_options.items():
            same = len(set(values)) == 1
            found.append(
                Finding(
                    "launch.option_repeated" if same else "launch.option_conflict",
                    {"option": option, "values": ", ".join(values), "launcher": command.launcher},
                    path=script.path,
                    line=command.line,
                    severity="note" if same else "error",
                )
            )
    return found


@check("config.launch_script")
def variables_of_the_command_are_set(view: TargetView) -> list[Finding]:
    """A variable of the launch command that the script sets under another spelling arrives empty.

    One that it sets under no similar name may come from the environment (`MASTER_ADDR` on a cluster).
    """
    found = []
    for script, command in _commands(view):
        words = [*command.options.values(), *command.arguments, command.program or ""]
        for name in dict.fromkeys(name for word in words for name in _VARIABLE.findall(word)):
            known = name in script.variables or name in script.filled
            meant = None if known else near(name, script.variables, _SAME_WORD)
            if meant is not None and f"${{{name}}}" not in script.variables[meant]:  # `NODES=$NODE` is meant
                found.append(
                    Finding(
                        "launch.variable_unset",
                        path=script.path,
                        line=command.line,
                        value=name,
                        suggestion=meant,
                    )
                )
    return found


@check("config.launch_script")
def world_size_is_consistent(view: TargetView) -> list[Finding]:
    """`WORLD_SIZE` of a script, which its batch arithmetic starts from, is what the launcher starts."""
    found = []
    for script, command in _commands(view):
        size = number_of(script.variables.get("WORLD_SIZE"))
        per_node = number_of(command.options.get("--nproc_per_node"))
        nodes = number_of(command.options.get("--nnodes", "1"))
        if size and per_node and nodes and size != per_node * nodes:
            value, expected = str(size), f"{per_node} x {nodes} = {per_node * nodes}"
            found.append(
                Finding(
                    "launch.world_size",
                    path=script.path,
                    line=command.line,
                    value=value,
                    expected=expected,
                    severity="note",
                )
            )
    return found


@check("config.launch_script")
def environment_is_what_others_set(view: TargetView) -> list[Finding]:
    """A variable that every other script with the same program exports is exported here too (`NON_MEGATRON`)."""
    if view.is_framework:
        return []
    by_program: dict[str, dict[str, ScriptFacts]] = {}
    of_targets = {path for target in view.facts.targets for path in target.scripts if path in view.facts.scripts}
    for script in (view.facts.scripts[path] for path in sorted(of_targets)):
        for command in script.commands:
            if command.program is not None:
                by_program.setdefault(command.program, {})[script.path] = script
    found: list[Finding] = []
    for script, command in _commands(view):
        others = [other for path, other in by_program.get(command.program or "", {}).items() if path != script.path]
        if len(others) < _QUORUM:
            continue
        common = set.intersection(*(set(other.environment) for other in others)) - set(script.environment)
        found.extend(
            Finding(
                "launch.env_missing",
                {"variable": name, "program": command.program, "count": len(others)},
                path=script.path,
                line=command.line,
                expected=f"export {name}={others[0].environment[name]}",
                severity="note",
            )
            for name in sorted(common)
        )
    return found


def _scripts(view: TargetView) -> list[ScriptFacts]:
    """The scripts of a target; for the framework those of no target that start something of this repo."""
    if not view.is_framework:
        return view.scripts
    owned = {path for target in view.facts.targets for path in target.scripts}
    return [
        script
        for path, script in view.facts.scripts.items()
        if path not in owned and not script.external and script.commands
    ]


def _commands(view: TargetView) -> Iterator[tuple[ScriptFacts, CommandFacts]]:
    for script in _scripts(view):
        for command in script.commands:
            yield script, command


def _copied(facts: StaticFacts) -> set[str]:
    """Files and folders that documents tell the user to bring into the repo."""
    return {
        posixpath.join(copy.destination, name)
        for doc in facts.docs.values()
        for copy in doc.copies
        for name in copy.names
    }


def _missing(
    facts: StaticFacts,
    path: str,
    references: Iterable[PathReference],
    copied: set[str],
    severity: Level,
    doc: bool = False,
) -> Iterator[Finding]:
    for reference in references:
        if reference.exists is not False or any(
            reference.path == item or reference.path.startswith(f"{item}/") for item in copied
        ):
            continue
        dead_page = reference.kind == "link" and reference.path.endswith(
            ".md"
        )  # a nuisance, but nothing starts from it
        message = "launch.doc_path" if doc else _MISSING.get(reference.kind, "launch.file_missing")
        yield Finding(
            message,
            path=path,
            line=reference.line,
            value=reference.path,
            suggestion=_similar(facts, reference),
            severity="note" if dead_page else severity,
        )


def _similar(facts: StaticFacts, reference: PathReference) -> str | None:
    """The file that is probably meant: the nearest name in the same folder, or the only file of that name elsewhere."""
    folder, name = posixpath.split(reference.path)
    suffix = posixpath.splitext(name)[1]
    known = [path for path in (*facts.configs, *facts.scripts, *facts.files) if path.endswith(suffix)]
    beside = {posixpath.basename(path): path for path in known if posixpath.dirname(path) == folder}
    close = near(name, beside)
    if close is not None:
        return beside[close]
    elsewhere = [path for path in known if posixpath.basename(path) == name]
    return elsewhere[0] if len(elsewhere) == 1 else None


def _clean(path: str) -> str:
    return path.removeprefix("./").replace('"', "")


def number_of(text: str | None) -> int | None:
    """A whole number that a script writes down; None for anything else."""
    return int(text) if text is not None and text.isdecimal() and len(text) < 10 else None
