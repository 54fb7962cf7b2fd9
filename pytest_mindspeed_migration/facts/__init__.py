"""Facts about a target repo: plain dataclasses that round-trip through JSON. No judgement, no I/O beyond load and save."""
