"""Makes the small data sets that the example configurations train on: 16 rows with media files beside them.

    PYTHON tests/upstream/sample_rows.py KIND FOLDER

``image``: conversations about pictures, in the layout of ``dataset_type: huggingface`` with the attribute mapping of
the example YAMLs (``messages`` with ``role`` and ``content``, ``images`` as paths). ``audio``: spoken rows for
``qwen3_asr`` (``messages``, ``audio`` as one path). ``codes``: rows with audio codes, for ``mosstts_delay``.
Needs pillow for ``image``; everything else is the standard library.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import struct
import wave
from pathlib import Path
from typing import Any

ROWS = 16
SAMPLING_RATE = 16000
COLOURS = ("red", "green", "blue", "yellow")


def _conversation(question: str, answer: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]


def _write_picture(path: Path, colour: str, width: int, height: int) -> None:
    from PIL import Image

    Image.new("RGB", (width, height), colour).save(path)


def _write_tone(path: Path, hertz: float, seconds: float) -> None:
    samples = (math.sin(2 * math.pi * hertz * n / SAMPLING_RATE) for n in range(int(seconds * SAMPLING_RATE)))
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SAMPLING_RATE)
        file.writeframes(b"".join(struct.pack("<h", int(20000 * sample)) for sample in samples))


def image_rows(folder: Path) -> Path:
    """Sixteen one-colour pictures of differing sizes, each with one question; gives the JSON file."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    rows = []
    for number in range(ROWS):
        colour = COLOURS[number % len(COLOURS)]
        path = folder / "images" / f"{number:02}.png"
        _write_picture(path, colour, 64 + 32 * (number % 3), 64 + 32 * (number % 2))
        answer = f"It is {colour}." + " Nothing else is in it." * (number % 3)
        rows.append({"messages": _conversation("<image>Which colour is it?", answer), "images": [str(path)]})
    return _write(folder / "images.json", rows)


def audio_rows(folder: Path) -> Path:
    """Sixteen tones of half a second to two seconds, each with its transcript; gives the JSON file."""
    (folder / "audio").mkdir(parents=True, exist_ok=True)
    rows = []
    for number in range(ROWS):
        path = folder / "audio" / f"{number:02}.wav"
        _write_tone(path, 220.0 + 20 * number, 0.5 + 0.5 * (number % 4))
        rows.append({"messages": _conversation("<audio>", f"tone number {number}"), "audio": str(path)})
    return _write(folder / "audio.json", rows)


def code_rows(folder: Path, codebooks: int = 4, codebook_size: int = 1024) -> Path:
    """Sixteen texts with audio codes of shape (frames, codebooks); gives the JSON-lines file."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(0)
    path = folder / "codes.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(ROWS):
            frames = 8 + number % 5
            codes = [[draw.randrange(codebook_size) for _ in range(codebooks)] for _ in range(frames)]
            file.write(json.dumps({"text": f"sentence number {number}", "audio_codes": codes}) + "\n")
    return path


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return path


KINDS = {"image": image_rows, "audio": audio_rows, "codes": code_rows}


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a small data set with its media files.")
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    print(KINDS[options.kind](options.folder.resolve()))


if __name__ == "__main__":
    main()
