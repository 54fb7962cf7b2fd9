"""Real rows through dataset, collator, forward and backward, on a small model of the target's kind."""

from __future__ import annotations

import itertools
import os
from typing import Any

from .. import standins
from ..assembly import SHARDING, Assembly, uninitialised_is_nan, use_one_process
from ..batches import alignment, describe_fields, label_facts, media_tokens, merge_size, tile_length
from ..data_parts import build_dataset, build_loader, first_samples, inner, length_of
from ..describe import relative
from ..forward_batch import media_fields, rows_for_forward, rows_of, shortest
from ..framework import Started, configured, start
from ..loaded_once import load_once, made_from
from ..row_facts import row_facts, tag_facts
from ..rows import folders, media_of, open_media, write_rows
from ..shrink import FolderError, read_config
from ..small_run import absent_files, few_rows, small_model
from ..small_weights import fill, not_loaded
from ..steps import Steps
from ..text_rows import MEDIA_KEYS, has_text_rows, text_rows
from ..training_step import (
    Executed,
    binding,
    built_with_storage,
    engine_of,
    gradient_facts,
    loss_facts,
    prepare,
    storage_facts,
)
from .shrink import shrunk

ROWS = 8
_BATCHES = 4


def probe(request: dict[str, Any], steps: Steps) -> None:
    """Steps, in order; each needs those before it unless said otherwise.

    `config`, `plugins`, `shrink`: see the probe `shrink`. `rows`: first rows and their media files. `trainer`: up to
    the model. `from_pretrained`. `get_model`: what the trainer puts on the model (the rest goes on without it).
    `materialise`: from the meta device (nothing depends on it). `dataset`, `loader`: by `build_mm_dataset` and
    `get_dataloader`. `other_form`: the data path as text where the config has a list, and the other way round (nothing
    depends on it). `samples`, `batches`, `mixed`: what they hold. `forward`, `backward`, `text_only`.
    """
    made = shrunk(request, steps)
    if made is None:
        return
    run = _Run(request, steps)
    if not run.read_rows() or not steps.ok("rows"):
        return
    small = made[1]
    run.assemble(small or request["model_path"])
    if not steps.ok("trainer"):
        return
    model = None
    if small is not None:
        model = run.load()
        run.materialise()
    run.read_data()
    if run.loader is not None and model is not None:
        run.train(model)


class _Run:
    def __init__(self, request: dict[str, Any], steps: Steps) -> None:
        self._request = request
        self._steps = steps
        self._changed: dict[str, Any] = {}
        self._rows: dict[str, list[Any]] = {}
        self._section: dict[str, Any] = {}
        self._batches: list[Any] = []
        self._samples: list[Any] = []
        self._tokens: dict[str, int] = {}
        self.loader: Any = None
        self._dataset: Any = None
        self._used: list[str] = []
        self._always: list[str] = []
        self._fresh: Any = None  # computed buffers as they should be

    def read_rows(self) -> bool:
        """Cut the data; False when there is none on this machine."""
        with self._steps.step("rows") as data:
            data["absent"] = absent_files(self._request, self._request["overrides"])
            if data["absent"]:
                return False
            self._changed, self._rows, self._section = few_rows(self._request, self._request["overrides"], ROWS)
            attr = self._section.get("attr") or {}
            fields = [str(attr[key]) for key in MEDIA_KEYS if attr.get(key)]
            data["attr"] = attr
            data["files"] = [row_facts(path, rows) for path, rows in self._rows.items()]
            named = [
                (path, row, *one)
                for path, rows in self._rows.items()
                for row, value in enumerate(rows)
                for one in media_of(value, fields)
            ]
            data["media"] = [
                {"file": path, "row": row, "field": field, "name": name, **open_media(name, self._roots(path))}
                for path, row, field, name in named
            ]
            data["tags"] = tag_facts(attr, self._rows)
        return True

    def _roots(self, path: str) -> list[str]:
        return ["", *folders(self._section), os.path.dirname(path)]

    def _started(self, small: str, changed: dict[str, Any]) -> Started:
        overrides = {**self._request["overrides"], **changed}
        overrides.update(small_model(self._request, overrides, small))
        started = start(self._request, overrides)
        use_one_process(started.args)
        training = started.args.training
        counts = [len(rows) for rows in self._rows.values()]
        if counts and training.micro_batch_size > sum(counts):
            training.micro_batch_size = max(1, sum(counts))
        if hasattr(training, "val_interval"):
            training.val_interval = 0
        return started

    def assemble(self, small: str) -> None:
        with self._steps.step("trainer") as data:
            self._used = standins.use_when_needed()
            self._always = [one for one in (standins.single_process_group(), SHARDING, load_once()) if one]
            data["overrides"] = self._changed
            self._small = small
            made_from(small, self._request["model_path"])
            self._target = self._started(small, self._changed)
            self._assembly = Assembly(self._target)
            self._assembly.trainer.model = None
            data["stand_ins"] = self._stand_ins()

    def _stand_ins(self) -> list[str]:
        """Those of this probe, and of the others those that the target has called so far."""
        return [*self._always, *self._used]

    def load(self) -> Any:
        """The model from the small checkpoint, with what the trainer puts on it where that works."""
        model = None
        with self._steps.step("from_pretrained") as data:
            model = self._assembly.foundation_model()
            data["class"] = type(model).__name__
            data["parameters"] = sum(parameter.numel() for parameter in model.parameters())
            data["tensors"] = sum(1 for _ in model.parameters())
            checkpoint = os.path.join(self._small, "model.safetensors")
            data["not_loaded"] = not_loaded(model, checkpoint)
            self._fresh = built_with_storage(model)
            data["storage"] = storage_facts(model, self._fresh)
            if configured(self._request, "training.init_model_with_meta_device") is True:
                fill(model, checkpoint, self._fresh)  # such a training does not load by from_pretrained
        if model is not None:
            self._assembly.trainer.model = model
            with self._steps.step("get_model"):
                self._assembly.trainer.model = model = self._assembly.loaded_model(model)
        return model

    def materialise(self) -> None:
        with self._steps.step("materialise") as data:
            data["load"] = bool(configured(self._request, "training.load"))
            with uninitialised_is_nan():
                model = self._assembly.initialised_model()
            data.update(storage_facts(model, self._fresh))
            data["stand_ins"] = self._stand_ins()

    def read_data(self) -> None:
        with self._steps.step("dataset") as data:
            if "dataloader_provider" not in self._target.providers:
                self._dataset = build_dataset(self._target)
            data["dataset"] = type(self._dataset).__name__
            data["length"] = length_of(self._dataset)
            data["form"] = self._form()
        if not self._steps.ok("dataset"):
            return
        if self._form() is not None and self._dataset is not None:
            with self._steps.step("other_form") as data:
                changed, data["form"] = self._other_form()
                try:
                    started = self._started(self._small, {**self._changed, **changed})
                except Exception as error:  # the schema of this framework has the other form not in this key
                    data["refused"] = f"{type(error).__name__}: {error}"
                else:
                    other = build_dataset(started)
                    data["length"] = length_of(other)
                    data["first"] = describe_fields(first_samples(other, 1)[0])
        with self._steps.step("loader") as data:
            self.loader = self._loader(self._target, self._dataset)
            self._dataset = getattr(inner(self.loader), "dataset", self._dataset)
            data["loader"] = type(self.loader).__name__
            data["collate"] = _name_of(getattr(inner(self.loader), "collate_fn", None), self._request["repo"])
            data["micro_batch_size"] = int(self._target.args.training.micro_batch_size)
        if self._dataset is None:
            return
        with self._steps.step("samples") as data:
            self._samples = first_samples(self._dataset, ROWS)
            data["samples"] = [describe_fields(sample) for sample in self._samples]
        if self.loader is None:
            return
        with self._steps.step("batches") as data:
            self._batches = list(itertools.islice(iter(self.loader), _BATCHES))
            config = getattr(self._assembly.trainer.model, "config", None) or _config_of(self._request["model_path"])
            tokens, merge, tile = media_tokens(config), merge_size(config), tile_length(config)
            data["tokens"] = self._tokens = tokens
            data["batches"] = [
                {
                    "fields": describe_fields(batch),
                    "labels": label_facts(batch),
                    "alignment": alignment(batch, tokens, merge, tile),
                }
                for batch in self._batches
            ]
        collate = getattr(inner(self.loader), "collate_fn", None)
        if collate is not None and len(self._samples) > 1:
            with self._steps.step("mixed") as data:
                pair = _shortest_and_longest(self._samples)
                data["given"] = [describe_fields(sample) for sample in pair]
                data["batch"] = describe_fields(collate(pair))

    def _loader(self, target: Started, dataset: Any) -> Any:
        self._assembly.trainer.args = target.args
        return build_loader(target, self._assembly.trainer, dataset)

    def _form(self) -> str | None:
        """How the config gives its data: one path, or a list of them."""
        values = [value for key, value in self._changed.items() if value and _is_rows(value, self._request["work"])]
        return None if not values else "list" if isinstance(values[0], list) else "text"

    def _other_form(self) -> tuple[dict[str, Any], str]:
        changed: dict[str, Any] = {}
        form = ""
        for key, value in self._changed.items():
            if value and _is_rows(value, self._request["work"]):
                if isinstance(value, list):
                    changed[key], form = value[0], "text"
                else:
                    changed[key], form = _in_two(value, self._rows), "list"
        return changed, form

    def _few_rows(self, data: dict[str, Any]) -> list[Any]:
        """Batches of the same rows for the forward pass; how many rows each has, and how many those of the training."""
        training = self._target.args.training
        configured_rows, few = int(training.micro_batch_size), rows_for_forward(self._target.args)
        data["rows"] = [configured_rows, configured_rows]
        if few == configured_rows:
            return self._batches
        training.micro_batch_size = few
        try:
            loader = self._loader(self._target, self._dataset)
            found = list(itertools.islice(loader, _BATCHES * -(-configured_rows // few)))
        except Exception:  # it takes no other number of rows
            found = []
        finally:
            training.micro_batch_size = configured_rows
        if not found or rows_of(found[0]) > few:  # data that can be read once, or a loader with a number of its own
            return self._batches
        data["rows"][0] = few
        return found

    def train(self, model: Any) -> None:
        if not self._steps.ok("batches") or not self._batches:
            return
        engine: Any = None
        output = executed = None
        with self._steps.step("forward") as data:
            engine = engine_of(self._target, model, self.loader)
            data["engine"] = type(engine).__name__
            batch, data["dropped"] = prepare(engine, shortest(self._few_rows(data), self._tokens))
            data["binding"] = _relative_binding(binding(model, batch), self._request["repo"])
            model.train()
            executed = Executed(model)
            output = model(**batch, use_cache=False)
            executed.remove()
            data["loss"] = loss_facts(output)
            data["media"] = executed.media
        if not self._steps.ok("forward") or not hasattr(getattr(output, "loss", None), "backward"):
            return
        with self._steps.step("backward") as data:
            output.loss.backward()
            data["stand_ins"] = self._stand_ins()
            data.update(gradient_facts(model, executed.names if executed else set()))
        rows = text_rows(self._rows, (self._section.get("attr") or {}))
        if not any(media_fields(batch) for batch in self._batches) or not rows:
            return
        with self._steps.step("text_only") as data:
            data["in_data"] = has_text_rows(self._rows, (self._section.get("attr") or {}))
            changed = {}
            for key, value in self._changed.items():
                if value and _is_rows(value, self._request["work"]):
                    path = os.path.join(self._request["work"], "rows", "text-only.json")
                    path = write_rows(rows, path, True)
                    changed[key] = [path] if isinstance(value, list) else path
            target = self._started(self._small, {**self._changed, **changed})
            target.args.training.micro_batch_size = 1
            loader = self._loader(target, build_dataset(target))
            batch, _ = prepare(engine, next(iter(loader)))
            output = model(**batch, use_cache=False)
            data["fields"] = describe_fields(batch)
            data["loss"] = loss_facts(output)
            output.loss.backward()


def _config_of(folder: str) -> dict[str, Any]:
    """The config of a model that was not built."""
    try:
        return read_config(folder)
    except FolderError:
        return {}


def _is_rows(value: Any, work: str) -> bool:
    return all(isinstance(one, str) and one.startswith(os.path.join(work, "rows")) for one in _as_list(value))


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _in_two(path: str, rows: dict[str, list[Any]]) -> list[str]:
    """The rows of a file in two files."""
    name = os.path.basename(path).partition("-")[2]
    values = next((held for source, held in rows.items() if os.path.basename(source) == name), [])
    half = max(1, len(values) // 2)
    stem, suffix = os.path.splitext(path)
    parts = [values[:half], values[half:]] if len(values) > 1 else [values]
    return [write_rows(part, f"{stem}-part{number}{suffix}", True) for number, part in enumerate(parts)]


def _name_of(function: Any, repo: str) -> dict[str, Any]:
    import inspect

    if function is None:
        return {}
    named = function if inspect.isroutine(function) else type(function)
    code = getattr(getattr(named, "__func__", named), "__code__", None)
    return {
        "name": getattr(named, "__qualname__", str(named)),
        "file": relative(code.co_filename, repo) if code else None,
        "line": code.co_firstlineno if code else None,
    }


def _relative_binding(found: dict[str, Any], repo: str) -> dict[str, Any]:
    return {**found, "file": relative(found["file"], repo) if found["file"] else None}


def _shortest_and_longest(samples: list[Any]) -> list[Any]:
    def length(sample: Any) -> int:
        ids = sample.get("input_ids") if hasattr(sample, "get") else None
        return len(ids) if ids is not None else 0

    ordered = sorted(samples, key=length)
    return [ordered[0], ordered[-1]]
