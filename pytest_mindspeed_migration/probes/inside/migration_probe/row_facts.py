"""What the first rows of data files hold, as plain JSON."""

from __future__ import annotations

from typing import Any


def row_facts(path: str, rows: list[Any]) -> dict[str, Any]:
    """Columns of each row of a file: their names, those without a value, and the types of values."""
    return {
        "file": path,
        "rows": len(rows),
        "fields": [sorted(map(str, row)) if isinstance(row, dict) else None for row in rows],
        "empty": [
            [str(key) for key, value in row.items() if value is None] if isinstance(row, dict) else [] for row in rows
        ],
        "types": [
            {str(key): type(value).__name__ for key, value in row.items() if value is not None}
            if isinstance(row, dict)
            else {}
            for row in rows
        ],
    }


def tag_facts(attr: dict[str, Any], rows: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Keys and roles of the messages of each row, where the mapping names a column of messages."""
    column = attr.get("messages")
    if not column:
        return []
    found = []
    for path, values in rows.items():
        for number, row in enumerate(values):
            turns = row.get(column) if isinstance(row, dict) else None
            if isinstance(turns, list):
                keys = sorted({str(key) for turn in turns if isinstance(turn, dict) for key in turn})
                role = attr.get("role_tag")
                roles = [str(turn.get(role)) for turn in turns if isinstance(turn, dict)] if role else []
                found.append({"file": path, "row": number, "keys": keys, "roles": roles})
    return found
