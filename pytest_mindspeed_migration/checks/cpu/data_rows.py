"""Real rows: what they hold, what the dataset makes of them, and what the collator makes of that."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...facts.runtime import StepFacts
from ...findings import Finding, Level, near
from ..registry import NothingToJudge, check
from ..view import TargetView
from .batch_steps import PROBE, listed, passed_step, step_of
from .steps import failure, first_line

_MEDIA = ("images", "videos", "audios")
_ATTR = "data.dataset_param.attr"


@check("data.sample_schema", level="cpu")
def rows_fit_the_mapping(view: TargetView) -> list[Finding]:
    """The first rows have the columns and tags that the mapping names, and their media files open."""
    step = step_of(view, "rows")
    found = failure(view, PROBE, step, "data")
    if found:
        return found
    if step.data.get("absent"):
        raise NothingToJudge("batch.no_data", path=step.data["absent"][0])
    if not step.data["files"]:
        raise NothingToJudge("batch.no_data_file")
    for file in step.data["files"]:
        if not file["rows"]:
            found.append(Finding("batch.no_rows", {"file": file["file"]}))
        found += _columns(view, file, step.data["attr"])
        found += _types(view, file, step.data["attr"])
    return [*found, *_tags(view, step.data), *_media_files(step.data)]


@check("data.path_types", level="cpu")
def text_and_list(view: TargetView) -> list[Finding]:
    """The dataset can be built from one path and from a list of paths, with all rows either way."""
    config = passed_step(view, "dataset", "data.fields")
    if config["form"] is None:
        raise NothingToJudge("batch.no_data_file")
    step = step_of(view, "other_form")
    form = {"text": "str", "list": "list[str]"}[step.data.get("form") or "list"]
    if "refused" in step.data:
        raise NothingToJudge("batch.form_refused", form=form, why=first_line(step.data["refused"]))
    found = failure(view, PROBE, step, f"build_mm_dataset ({form})")
    if found or None in (step.data["length"], config["length"]) or config["form"] != "text":
        return found
    if step.data["length"] == config["length"]:
        return []
    args = {"form": form, "seen": step.data["length"], "expected": config["length"]}
    return [Finding("batch.rows_lost", args, yaml_path="data.dataset_param")]


@check("data.fields", level="cpu")
def samples_have_fields(view: TargetView) -> list[Finding]:
    """The dataset gives samples, and media that rows name are still in the batch that they make."""
    passed_step(view, "rows", "data.sample_schema")
    step = step_of(view, "dataset")
    found = failure(view, PROBE, step, "build_mm_dataset")
    if found:
        return found
    samples = step_of(view, "samples")
    found = failure(view, PROBE, samples, f"{step.data['dataset']}.__getitem__")
    if found:
        return found
    if not samples.data["samples"]:
        return [Finding("batch.no_samples", {"dataset": step.data["dataset"]})]
    batches = view.probe(PROBE).steps.get("batches")
    media = view.probe(PROBE).steps["rows"].data.get("media", [])
    if not media or batches is None or batches.status != "ok" or not batches.data["batches"]:
        return []
    if any(_is_media(field) for batch in batches.data["batches"] for field in batch["fields"].values()):
        return []
    columns = sorted({item["field"] for item in media})
    keys = ", ".join(batches.data["batches"][0]["fields"])
    return [Finding("batch.media_lost", {"columns": ", ".join(columns), "keys": keys})]


@check("data.collate", level="cpu")
def batches_form(view: TargetView) -> list[Finding]:
    """The collator, resolved as the trainer resolves it, makes batches of one length in all text fields."""
    passed_step(view, "dataset", "data.fields")
    loader = step_of(view, "loader")
    found = failure(view, PROBE, loader, "get_dataloader")
    if found:
        return found
    passed_step(view, "samples", "data.fields")
    step = step_of(view, "batches")
    found = failure(view, PROBE, step, "collate_fn")
    if found:
        return found
    if not step.data["batches"]:
        args = {"size": loader.data["micro_batch_size"]}
        return [Finding("batch.no_batches", args, yaml_path="training.micro_batch_size")]
    for batch in step.data["batches"][:1]:
        found += _lengths(batch["fields"], loader)
    mixed = view.probe(PROBE).steps.get("mixed")
    if mixed is not None:
        level: Level = "error" if loader.data["micro_batch_size"] > 1 else "note"
        unequal = failure(view, PROBE, mixed, "collate_fn")
        unequal = unequal or _lengths(mixed.data["batch"], loader)
        found += [Finding(one.message, one.args, one.path, one.line, severity=level) for one in unequal]
    return found


@check("data.labels", level="cpu")
def labels_count(view: TargetView) -> list[Finding]:
    """Labels have the shape of input_ids, are their tokens, and some of them count in every sample."""
    step = passed_step(view, "batches", "data.collate")
    facts = [batch["labels"] for batch in step["batches"] if batch["labels"] is not None]
    if not facts:
        raise NothingToJudge("batch.no_labels")
    for one in facts:
        ids, labels = one["shapes"]
        if ids != labels:
            return [Finding("batch.label_shape", {"ids": str(ids), "labels": str(labels)})]
    counted = sum(one["counted"] for one in facts)
    if not counted:
        return [Finding("batch.labels_ignored", {"total": sum(one["total"] for one in facts)})]
    found = []
    empty = sum(len(one["empty"]) for one in facts)
    if empty:
        found.append(Finding("batch.sample_without_labels", {"count": empty}))
    compared = [one for one in facts if "equal" in one]
    equal, following = (sum(one[name] for one in compared) for name in ("equal", "next"))
    if compared and equal < counted:
        key = "batch.labels_shifted" if following == counted else "batch.labels_differ"
        found.append(Finding(key, {"equal": equal, "counted": counted}))
    return found


@check("data.modal_alignment", level="cpu")
def tokens_equal_features(view: TargetView) -> list[Finding]:
    """A batch has as many tokens that stand for media as the model makes features of its media."""
    step = passed_step(view, "batches", "data.collate")
    items = [item for batch in step["batches"] for item in batch["alignment"]]
    if not items:
        raise NothingToJudge("batch.no_media_tokens")
    found = [
        Finding(
            "batch.tokens_differ",
            {"kind": item["kind"], "tokens": item["tokens"], "features": item["features"], "by": item["by"]},
            value=str(item["tokens"]),
            expected=str(item["features"]),
        )
        for item in items
        if item["features"] is not None and item["features"] != item["tokens"]
    ]
    if found:
        return found[:1]
    if all(item["features"] is None for item in items):
        return _by_tower(view, items)
    return []


def _by_tower(view: TargetView, items: list[dict[str, Any]]) -> list[Finding]:
    """Where no field says how many features there are: what the towers made in the forward pass."""
    forward = view.probe(PROBE).steps.get("forward")
    shapes = (forward.data.get("media") or {}) if forward is not None else {}
    if not shapes:
        raise NothingToJudge("batch.features_unknown")
    made = {_rows(shape) for shape in shapes.values()}
    tokens = {item["tokens"] for item in items}
    if tokens & made:
        return []
    kinds = sorted({item["kind"] for item in items})
    args = {
        "kind": ", ".join(kinds),
        "tokens": max(tokens),
        "features": listed(map(str, sorted(made))),
        "by": "forward",
    }
    return [Finding("batch.tokens_differ", args)]


def _rows(shape: list[int]) -> int:
    count = 1
    for size in shape[:-1]:
        count *= size
    return count


def _columns(view: TargetView, file: dict[str, Any], attr: dict[str, Any]) -> list[Finding]:
    """Columns that the mapping names: every row has those of text, some row has those of media."""
    found = []
    for key, name in _mapped(attr).items():
        without = [
            number
            for number, fields in enumerate(file["fields"])
            if fields is None or name not in fields or name in file["empty"][number]
        ]
        if not without or (key in _MEDIA and len(without) < file["rows"]):
            continue
        known = sorted({field for fields in file["fields"] if fields for field in fields})
        all_rows = len(without) == file["rows"]
        key_of_text = "batch.column_missing" if all_rows else "batch.column_missing_in_rows"
        found.append(
            Finding(
                key_of_text,
                {"column": name, "rows": listed(map(str, without)), "file": file["file"], "known": ", ".join(known)},
                path=view.target.config,
                line=view.config.line_of(f"{_ATTR}.{key}") if view.config else None,
                yaml_path=f"{_ATTR}.{key}",
                value=name,
                suggestion=near(name, known),
                severity="note" if key in _MEDIA and known else "error",
            )
        )
    return found


def _mapped(attr: dict[str, Any]) -> dict[str, str]:
    """Columns by the key of the mapping that names them."""
    named = {key: name for key, name in attr.items() if isinstance(name, str) and not key.endswith("_tag")}
    named.pop("formatting", None)
    return named


def _types(view: TargetView, file: dict[str, Any], attr: dict[str, Any]) -> list[Finding]:
    """Rows whose value in a mapped column is of another type than in most rows."""
    found = []
    for key, name in _mapped(attr).items():
        kinds = Counter(types[name] for types in file["types"] if name in types)
        if len(kinds) < 2:
            continue
        usual = kinds.most_common(1)[0][0]
        odd = [number for number, types in enumerate(file["types"]) if types.get(name, usual) != usual]
        args = {
            "column": name,
            "rows": listed(map(str, odd)),
            "file": file["file"],
            "type": file["types"][odd[0]][name],
        }
        found.append(
            Finding(
                "batch.column_type",
                {**args, "usual": usual},
                path=view.target.config,
                line=view.config.line_of(f"{_ATTR}.{key}") if view.config else None,
                yaml_path=f"{_ATTR}.{key}",
                value=name,
                severity="error" if key == "messages" else "note",
            )
        )
    return found


def _tags(view: TargetView, data: dict[str, Any]) -> list[Finding]:
    attr = data["attr"]
    found = []
    for key in ("role_tag", "content_tag"):
        name = attr.get(key)
        bad = next((one for one in data["tags"] if name and one["keys"] and name not in one["keys"]), None)
        if bad is not None:
            args = {"tag": name, "row": bad["row"], "file": bad["file"], "known": ", ".join(bad["keys"])}
            found.append(Finding("batch.tag_missing", args, yaml_path=f"{_ATTR}.{key}", value=name))
    if found or not attr.get("role_tag"):
        return found
    known = {attr[key] for key in attr if key.endswith("_tag") and key not in ("role_tag", "content_tag")}
    if not {attr.get("user_tag"), attr.get("assistant_tag")} <= known or None in known:
        return []
    known |= {"system", "tool", "observation", "function_call", "function"}
    for one in data["tags"]:
        strange = [role for role in one["roles"] if role not in known]
        if strange:
            args = {"role": strange[0], "row": one["row"], "file": one["file"], "known": ", ".join(sorted(known))}
            return [Finding("batch.role_unknown", args, yaml_path=_ATTR, value=strange[0])]
    return []


def _media_files(data: dict[str, Any]) -> list[Finding]:
    found = []
    for item in data["media"]:
        args = {"name": item["name"], "row": item["row"], "field": item["field"], "file": item["file"]}
        if item["path"] is None:
            found.append(Finding("batch.media_missing", args, value=item["name"]))
        elif item["error"]:
            found.append(Finding("batch.media_broken", {**args, "error": item["error"]}, value=item["path"]))
    return found


def _is_media(field: dict[str, Any]) -> bool:
    """Whether a field of a batch can hold media: numbers with a fraction, in more than one dimension."""
    if field["type"] in ("list", "tuple"):
        return field["first"] is not None and _is_media(field["first"])
    return str(field.get("dtype", "")).startswith(("float", "bfloat", "uint8")) and len(field.get("shape", [])) > 1


def _lengths(fields: dict[str, Any], loader: StepFacts) -> list[Finding]:
    """Text fields of a batch that do not have the shape of input_ids."""
    ids = fields.get("input_ids", {}).get("shape")
    place = loader.data["collate"]
    own = (place.get("file"), place.get("line"))
    if ids is None:
        return []
    return [
        Finding("batch.unequal", {"field": name, "shape": str(fields[name]["shape"]), "ids": str(ids)}, *own)
        for name in ("attention_mask", "labels")
        if fields.get(name, {}).get("shape") not in (None, ids) and fields[name]["shape"][:1] != ids[:1]
    ]
