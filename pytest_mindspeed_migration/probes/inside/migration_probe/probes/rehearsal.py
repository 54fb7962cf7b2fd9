"""The target's own trainer under torchrun: some steps on ranks of this machine."""

from __future__ import annotations

import os
from typing import Any

from ..distributed import Launch
from ..framework import DEFAULT_TRAINER, write_config
from ..steps import Steps


def probe(request: dict[str, Any], steps: Steps) -> None:
    """Step `train`: what `Launch.run` brings back, the command line, and what was replaced in the config."""
    with steps.step("train") as data:
        request = {**request, "trainer": request.get("trainer") or DEFAULT_TRAINER}
        out = os.path.join(request["work"], "ranks")
        os.makedirs(out)
        launch = Launch(request, write_config(request, request["overrides"]), out)
        data["command"] = launch.command
        data["overrides"] = request.get("override_notes", [])
        data.update(launch.run(lambda said: steps.say({"event": "progress", **said})))
        for rank in data["ranks"]:
            printed = rank.pop("printed")
            print(f"==== rank {rank['rank']} ====\n{printed}", flush=True)
