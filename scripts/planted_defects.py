"""Ten mistakes of real migrations, planted in a copy of a checkout: in the YAML, the model plugin, the dataset plugin.

They are spread over the life of a training: arguments, plugins, build, sharding, dataset, dataloader, first step. The
kinds are those of public bug reports and of MindSpeed-MM's own history.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Config = dict[str, Any]
Edit = Callable[["Migration"], None]


@dataclass(frozen=True)
class Defect:
    """A mistake.

    Attributes:
        name: what is wrong.
        part: of the migration it is in.
        contract: which one has to fail.
        says: text that the finding has to hold, so that it names this mistake and no other.
        edit: plants it.
    """

    name: str
    part: str
    contract: str
    says: str
    edit: Edit


class Migration:
    """The files of one target in a copy of a checkout; `configs` are the YAMLs that a mistake goes into."""

    def __init__(self, repo: Path, configs: list[Path]) -> None:
        self._repo = repo
        self.configs = configs
        self._before = {path: path.read_text(encoding="utf-8") for path in configs}
        config = yaml.safe_load(self._before[configs[0]])
        self._ids = {
            "model_register": config["model"]["model_id"],
            "data_register": config["data"]["dataset_param"]["dataset_type"],
        }
        self._folders = [repo / entry for entry in config["training"]["plugin"]]

    def restore(self) -> None:
        """Put every file back that was changed."""
        for path, text in self._before.items():
            path.write_text(text, encoding="utf-8")

    def write(self, path: Path, text: str) -> None:
        """Change a file until `restore`."""
        self._before.setdefault(path, path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")

    def registered(self, register: str) -> tuple[Path, ast.ClassDef | ast.FunctionDef]:
        """The file and the definition of what the target's plugins register under its id."""
        for folder in self._folders:
            for path in sorted(folder.rglob("*.py")):
                for node in ast.parse(path.read_text(encoding="utf-8")).body:
                    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                        for one in map(ast.unparse, node.decorator_list):
                            if register in one and f"'{self._ids[register]}'" in one:
                                return path, node
        raise LookupError(f"no plugin registers {self._ids[register]}")


def put(dotted: str, value: Any) -> Edit:
    """Another value in the YAML."""

    def edit(migration: Migration) -> None:
        for path in migration.configs:
            config = yaml.safe_load(path.read_text(encoding="utf-8"))
            *parents, last = dotted.split(".")
            node = config
            for name in parents:
                node = node.setdefault(name, {})
            node[last] = value
            migration.write(path, yaml.safe_dump(config, allow_unicode=True, sort_keys=False))

    return edit


def first_line(register: str, line: str) -> Edit:
    """A line before the first class or function of the file that registers something."""

    def edit(migration: Migration) -> None:
        path, _ = migration.registered(register)
        body = ast.parse(path.read_text(encoding="utf-8")).body
        first = next(node for node in body if isinstance(node, (ast.ClassDef, ast.FunctionDef)))
        start = min([first.lineno, *(one.lineno for one in first.decorator_list)])
        _splice(migration, path, start, start - 1, [line])

    return edit


def before_last(register: str, line: str) -> Edit:
    """A line before the last statement of a registered function."""

    def edit(migration: Migration) -> None:
        path, node = migration.registered(register)
        last = node.body[-1]
        _splice(migration, path, last.lineno, last.lineno - 1, [" " * last.col_offset + line])

    return edit


def replaced_method(name: str, lines: list[str]) -> Edit:
    """Another method of that name in the registered model class."""

    def edit(migration: Migration) -> None:
        path, method = _method(migration, name)
        start = min([method.lineno, *(one.lineno for one in method.decorator_list)])
        indented = [" " * method.col_offset + line for line in lines]
        _splice(migration, path, start, method.end_lineno or start, indented)

    return edit


def last_return(name: str, line: str) -> Edit:
    """Another last `return` in a method of the registered model class."""

    def edit(migration: Migration) -> None:
        path, method = _method(migration, name)
        last = method.body[-1]
        _splice(migration, path, last.lineno, last.end_lineno or last.lineno, [" " * last.col_offset + line])

    return edit


def without_catch_all(name: str) -> Edit:
    """A method of the registered model class that takes no `**kwargs` any more."""

    def edit(migration: Migration) -> None:
        path, method = _method(migration, name)
        rest = method.args.kwarg
        assert rest is not None
        start = method.body[1 if ast.get_docstring(method) is not None else 0]
        _splice(migration, path, start.lineno, start.lineno - 1, [" " * start.col_offset + f"{rest.arg} = {{}}"])
        _splice(migration, path, rest.lineno, rest.end_lineno or rest.lineno, [])

    return edit


def _method(migration: Migration, name: str) -> tuple[Path, ast.FunctionDef]:
    path, node = migration.registered("model_register")
    return path, next(one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == name)


def _splice(migration: Migration, path: Path, first: int, last: int, lines: list[str]) -> None:
    """Put lines in the place of those from `first` to `last`; before `first` when `last` is the one before it."""
    text = path.read_text(encoding="utf-8").split("\n")
    migration.write(path, "\n".join([*text[: first - 1], *lines, *text[last:]]))


HOOK = "overwrite_transformer_config"
DEFECTS = (
    Defect("iterations as text", "YAML", "config.types", "training.train_iters", put("training.train_iters", "many")),
    Defect(
        "plugin folder misspelt",
        "YAML",
        "config.linkage",
        "models/qwen3v ",
        put("training.plugin", ["mindspeed_mm/fsdp/models/qwen3v", "mindspeed_mm/fsdp/data/datasets/huggingface"]),
    ),
    Defect(
        "import of what the framework lacks",
        "model plugin",
        "model.imports",
        "get_npu_device",
        first_line("model_register", "from mindspeed_mm.fsdp.utils.device import get_npu_device"),
    ),
    Defect(
        "hook of the source repo's shape",
        "model plugin",
        "code.calls",
        HOOK,
        replaced_method(HOOK, ["@staticmethod", f"def {HOOK}(config, model_args):", "    return config"]),
    ),
    Defect(
        "pattern below another parent",
        "YAML",
        "config.apply_modules",
        "model.layers.{*}",
        put("parallel.fsdp_plan.apply_modules", ["model.layers.{*}"]),
    ),
    Defect(
        "dataset_type of nobody",
        "YAML",
        "data.registration",
        "hugginface",
        put("data.dataset_param.dataset_type", "hugginface"),
    ),
    Defect(
        "name misspelt in the dataset",
        "dataset plugin",
        "code.names",
        "train_datset",
        before_last("data_register", "len(train_datset)"),
    ),
    Defect(
        "collator of nobody",
        "YAML",
        "data.collate",
        "qwen4vl",
        put("data.dataloader_param.collate_param.model_name", "qwen4vl"),
    ),
    Defect(
        "forward refuses use_cache", "model plugin", "model.forward_inputs", "use_cache", without_catch_all("forward")
    ),
    Defect(
        "forward returns a tuple",
        "model plugin",
        "model.forward_loss",
        "tuple",
        last_return("forward", "return loss, logits"),
    ),
)
