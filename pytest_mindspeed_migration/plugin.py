"""Entry point of the plugin. Adds the options; everything else is imported when one of them is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from . import options

if TYPE_CHECKING:
    from .session import Migration


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the `--migrate-*` options and their ini keys."""
    options.add_options(parser)


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Serve the options that show or write something and stop."""
    if not options.active(config):
        return None
    from .plain_imports import import_plainly

    import_plainly(config)
    from .commands import run_command

    return run_command(config)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Start the machinery when an option or ini key asks for it."""
    if options.active(config):
        from .garbage import without_collection

        with without_collection():
            from .session import activate

            activate(config)


@pytest.fixture
def migration(request: pytest.FixtureRequest) -> Migration:
    """Judge one migration contract of the target a generated suite was written for: `migration.verify("area.name")`."""
    if not options.active(request.config):
        from .messages import text

        pytest.fail(text("session.inactive", {}), pytrace=False)
    from .session import migration_of

    return migration_of(request.node)
