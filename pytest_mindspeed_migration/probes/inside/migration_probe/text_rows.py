"""Rows without media, for a batch that is text alone."""

from __future__ import annotations

from typing import Any

from .rows import media_of

MEDIA_KEYS = ("images", "videos", "audios")


def media_columns(attr: dict[str, Any]) -> list[str]:
    """Columns of a row that hold media, by the mapping `attr` of the config."""
    return [str(attr[key]) for key in MEDIA_KEYS if attr.get(key)]


def has_text_rows(rows: dict[str, list[Any]], attr: dict[str, Any]) -> bool:
    """Whether some row has no media; `rows` by the path of their file."""
    return any(
        isinstance(row, dict) and not any(True for _ in media_of(row, media_columns(attr)))
        for values in rows.values()
        for row in values
    )


def text_rows(rows: dict[str, list[Any]], attr: dict[str, Any]) -> list[Any]:
    """Two rows without media: those of the data, else rows whose media and placeholders are taken out."""
    columns = media_columns(attr)
    values = [row for held in rows.values() for row in held if isinstance(row, dict)]
    plain = [row for row in values if not any(True for _ in media_of(row, columns))]
    if not plain and columns:
        plain = [_without_placeholders({**row, **_no_media(row, columns)}) for row in values]
        plain = [row for row in plain if not any(True for _ in media_of(row, columns))]
    return plain[:2]


def _no_media(row: dict[str, Any], columns: list[str]) -> dict[str, Any]:
    """Nothing, of the type that was there: readers of tables want the column."""
    return {column: [] if isinstance(row[column], list) else None for column in columns if column in row}


def _without_placeholders(value: Any) -> Any:
    if isinstance(value, str):
        for placeholder in ("<image>", "<video>", "<audio>"):
            value = value.replace(placeholder, "")
        return value
    if isinstance(value, list):
        return [_without_placeholders(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_placeholders(item) for key, item in value.items()}
    return value
