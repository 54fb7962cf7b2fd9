"""From a YAML file and `key=value` overrides to validated arguments."""

import sys
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from mindspeed_mm.config.arguments.base_args import BaseArguments
from mindspeed_mm.config.exception import ConfigValidationError
from mindspeed_mm.fsdp.params.argument import Arguments


class ConfigManager:
    """Loads one configuration.

    Args:
        config_class: root argument class to validate against.
        config_file_path: the YAML file; by default the first command-line argument that ends in .yaml or .yml.
        overrides: `a.b=value` strings; by default those of the command line.
    """

    def __init__(
        self,
        config_class: type[BaseArguments] = Arguments,
        config_file_path: str | None = None,
        overrides: list[str] | None = None,
    ):
        self.config_class = config_class
        words = sys.argv[1:]
        yaml_words = [word for word in words if word.endswith((".yaml", ".yml"))]
        self.config_file_path = config_file_path or (yaml_words[0] if yaml_words else None)
        self.overrides = overrides if overrides is not None else [word for word in words if "=" in word]

    def load_and_parse(self) -> BaseArguments:
        """Return the validated arguments.

        Raises:
            ConfigValidationError: no file, a file that is not a YAML mapping, or a value of the wrong type.
        """
        values = self._read()
        for override in self.overrides:
            self._override(values, override)
        try:
            return self.config_class(**values)
        except ValidationError as error:
            lines = [f"  {'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()]
            raise ConfigValidationError("\n".join([f"{self.config_file_path} is not valid:", *lines])) from error

    def _read(self) -> dict[str, Any]:
        if self.config_file_path is None:
            raise ConfigValidationError("No configuration given: pass the YAML file as the first argument.")
        path = Path(self.config_file_path)
        if not path.is_file():
            raise ConfigValidationError(f"Configuration file {path} does not exist.")
        try:
            values = yaml.safe_load(path.read_text(encoding="utf-8"))
        except yaml.YAMLError as error:
            raise ConfigValidationError(f"{path} is not valid YAML: {error}") from error
        if not isinstance(values, dict):
            raise ConfigValidationError(f"{path} must hold a mapping of sections, found {type(values).__name__}.")
        return values

    @staticmethod
    def _override(values: dict[str, Any], override: str) -> None:
        dotted_key, _, text = override.partition("=")
        *parents, last = dotted_key.split(".")
        node = values
        for part in parents:
            node = node.setdefault(part, {})
            if not isinstance(node, dict):
                raise ConfigValidationError(f"Override {override!r}: {part!r} is not a section.")
        node[last] = yaml.safe_load(text)
