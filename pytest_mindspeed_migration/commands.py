"""Options that show or write something and stop: list, explain, triage, generate, and export-facts without a target."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import pytest

from . import options as option_module
from .errors import UsageProblem
from .messages import text

if TYPE_CHECKING:
    from .options import Options


def run_command(config: pytest.Config) -> int | None:
    """Serve the request, if it is one of these; the exit status, or None when there are tests to run.

    Raises:
        pytest.UsageError: for a mistake of the user.
    """
    lang = "en"
    try:
        options = option_module.read(config)
        lang = options.lang
        if options.explain is not None:
            return _explain(options.explain, lang)
        if options.triage is not None:
            return _triage(options)
        if options.list_all:
            return _list(options)
        if options.generate is not None:
            return _generate(options)
        if options.export_facts is not None and not options.targets:
            return _export(options)
    except UsageProblem as problem:
        raise pytest.UsageError(problem.render(lang)) from None
    return None


def unknown_contract(name: str) -> UsageProblem:
    """The answer to a contract id that does not exist, with a near one."""
    from .catalogue import load_catalogue
    from .findings import near

    hint = option_module.did_you_mean(near(name, load_catalogue().by_id))
    return UsageProblem("usage.unknown_contract", name=name, hint=hint)


def _show(text: str) -> None:
    """Print to a terminal that may not know all characters."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))


def _explain(name: str, lang: str) -> int:
    from .catalogue import load_catalogue
    from .report.contract_docs import contract_page

    catalogue = load_catalogue()
    contract = catalogue.by_id.get(name)
    if contract is None:
        raise unknown_contract(name)
    _show(contract_page(contract, catalogue, lang).rstrip())
    return 0


def _triage(options: Options) -> int:
    from .error_dictionary import error_dictionary
    from .report.triage import diagnosis_text
    from .triage import read_log

    assert options.triage is not None
    try:
        diagnosis = read_log(options.triage, error_dictionary(options))
    except OSError as error:
        raise UsageProblem("usage.triage_log", path=str(options.triage), error=error.strerror or str(error)) from error
    if diagnosis is None:
        _show(text("triage.nothing", {"path": str(options.triage)}, options.lang))
        return 0
    _show(diagnosis_text(diagnosis, options.lang))
    return 1


def _list(options: Options) -> int:
    from . import target_repo
    from .catalogue import load_catalogue
    from .report.listing import list_contracts, list_targets

    _show(list_targets(target_repo.load(options, target_repo.manifests_of(options), None).targets, options.lang))
    _show(list_contracts(load_catalogue(), options.lang))
    return 0


def _generate(options: Options) -> int:
    from . import target_repo
    from .catalogue import load_catalogue
    from .suite import write_suites

    options = target_repo.judging_the_announced(options)
    assert options.generate is not None
    manifests = target_repo.manifests_of(options)
    loaded = target_repo.load(options, manifests, None)
    alone = len(loaded.targets) == 1
    views = [target_repo.view_of(loaded.facts, target, manifests, alone) for target in loaded.targets]
    try:
        written = write_suites(options.generate, views, load_catalogue())
    except OSError as error:
        raise UsageProblem("usage.cannot_write", path=str(options.generate), error=str(error)) from error
    for suite in written:
        _show(text("session.generated", {"path": suite.path, "target": suite.target}, options.lang))
    _show(text("session.run_generated", {"command": _command_for(options)}, options.lang))
    return 0


def _command_for(options: Options) -> str:
    """The command line that runs what was generated."""
    place = [] if options.repo_typed or options.facts or options.repo is None else [f"--migrate-repo={options.repo}"]
    return shlex.join(["pytest", str(options.generate), *options.typed, *place])


def _export(options: Options) -> int:
    from . import target_repo

    assert options.export_facts is not None
    loaded = target_repo.load(options, target_repo.manifests_of(options), None)
    target_repo.export(loaded.facts, options.export_facts)
    values = {"targets": len(loaded.facts.targets), "path": options.export_facts}
    _show(text("session.exported", values, options.lang))
    return 0
