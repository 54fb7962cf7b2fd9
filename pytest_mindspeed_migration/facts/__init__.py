"""Facts about a target repo: plain dataclasses that round-trip through JSON. No judgement; I/O is load and save."""
