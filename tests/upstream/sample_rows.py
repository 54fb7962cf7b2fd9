"""Makes the small data sets that the example configurations train on: 16 rows with media files beside them.

    PYTHON tests/upstream/sample_rows.py KIND FOLDER

``image``: conversations about pictures, in the layout of ``dataset_type: huggingface`` with the attribute mapping of
the example YAMLs (``messages`` with ``role`` and ``content``, ``images`` as paths). ``audio``: spoken rows for
``qwen3_asr`` (``messages``, ``audio`` as one path). ``codes``: rows with audio codes, for ``mosstts_delay``.
``voices``: rows with audio codes, the spoken text and a reference voice, for ``qwen3tts``. ``parquet``: a parquet file
and its list, for ``cosyvoice``. Needs pillow for ``image``, pyarrow for ``parquet``; the rest is the standard library.
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


def _write_tone(path: Path, hertz: float, seconds: float, rate: int = SAMPLING_RATE) -> None:
    samples = (math.sin(2 * math.pi * hertz * n / rate) for n in range(int(seconds * rate)))
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
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


def voice_rows(folder: Path) -> Path:
    """Sixteen texts with codes of shape (frames, 16) and a reference voice of 24 kHz; gives the JSON-lines file."""
    (folder / "voices").mkdir(parents=True, exist_ok=True)
    draw = random.Random(0)
    path = folder / "voices.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(ROWS):
            voice = folder / "voices" / f"{number:02}.wav"
            _write_tone(voice, 220.0 + 20 * number, 1.0, rate=24000)
            codes = [[draw.randrange(2048) for _ in range(16)] for _ in range(8 + number % 5)]
            text = f"sentence number {number}"
            row = {"audio": str(voice), "ref_audio": str(voice), "text": text, "audio_codes": codes}
            file.write(json.dumps(row) + "\n")
    return path


def parquet_rows(folder: Path) -> Path:
    """Sixteen utterances of one to two seconds with 25 speech tokens a second; gives the list of parquet files."""
    import pyarrow
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(0)
    tone = folder / "tone.wav"
    rows = []
    for number in range(ROWS):
        seconds = 1.2 + 0.2 * (number % 4)
        _write_tone(tone, 220.0 + 20 * number, seconds, rate=24000)
        rows.append(
            {
                "utt": f"utterance-{number}",
                "text": f"sentence number {number}",
                "instruct": "You are a helpful assistant.<|endofprompt|>",
                "audio_data": tone.read_bytes(),
                "speech_token": [draw.randrange(6561) for _ in range(int(seconds * 25))],
                "utt_embedding": [draw.random() for _ in range(192)],
                "spk_embedding": [draw.random() for _ in range(192)],
            }
        )
    tone.unlink()
    parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "speech.parquet")
    listing = folder / "data.list"
    listing.write_text(f"{folder / 'speech.parquet'}\n", encoding="utf-8")
    return listing


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return path


KINDS = {"image": image_rows, "audio": audio_rows, "codes": code_rows, "voices": voice_rows, "parquet": parquet_rows}


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a small data set with its media files.")
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    print(KINDS[options.kind](options.folder.resolve()))


if __name__ == "__main__":
    main()
