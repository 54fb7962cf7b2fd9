"""The demo migration trains: run with an interpreter that has torch, transformers, accelerate, pydantic and pillow.

`MIGRATE_DEMO_PYTHON` names that interpreter. CI without it does not run these tests and says so.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pytest_mindspeed_migration.demo import demo_repo

PYTHON = os.environ.get("MIGRATE_DEMO_PYTHON")
CONFIG = "examples/internvl3_5/internvl3_5_config.yaml"
CHECKPOINT = "ckpt/hf_path/InternVL3_5-tiny"

pytestmark = pytest.mark.skipif(PYTHON is None, reason="MIGRATE_DEMO_PYTHON names no interpreter with torch")

ROUTES = """
import json, pathlib, sys
from mindspeed_mm.config.config_manager import ConfigManager
from mindspeed_mm.fsdp.data import build_mm_dataset
from mindspeed_mm.fsdp.models.modelhub import ModelHub
from mindspeed_mm.fsdp.utils.register import import_plugin

def build(*overrides):
    args = ConfigManager(config_file_path=sys.argv[1], overrides=list(overrides)).load_and_parse()
    import_plugin(args.training.plugin)
    return args, ModelHub.build(args.model, args.features, args.training)

whole = "training.init_model_with_meta_device=false"
args, model = build(whole)
dataset = build_mm_dataset(args.data.dataset_param)
batch = dataset.collate_fn([dataset[index] for index in range(len(dataset))])
transformers_loss = model(**batch, use_cache=False).loss.item()

custom = pathlib.Path("custom")  # a model type Transformers does not know: ModelHub takes the custom route
config = json.loads((custom / "config.json").read_text())
(custom / "config.json").write_text(json.dumps({**config, "model_type": "of_its_own"}))
args, model = build(whole, "model.model_name_or_path=custom")
custom_loss = model(**batch, use_cache=False).loss.item()
args, model = build("model.model_name_or_path=custom")
print("RESULT", json.dumps([transformers_loss, custom_loss, all(p.is_meta for p in model.parameters())]))
"""


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the demo repo, with weights."""
    copy = tmp_path_factory.mktemp("demo") / "repo"
    shutil.copytree(demo_repo(), copy, ignore=shutil.ignore_patterns("__pycache__"))
    run(copy, "examples/internvl3_5/make_tiny_assets.py")
    return copy


def run(repo: Path, *words: str) -> str:
    """Run Python in the repo and return what it printed."""
    assert PYTHON is not None
    environment = {**os.environ, "PYTHONPATH": str(repo), "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [PYTHON, *words], cwd=repo, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout + done.stderr


def train(repo: Path, *overrides: str) -> list[float]:
    """Train on two ranks and return the loss of each step."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    printed = run(repo, *launcher, "mindspeed_mm/fsdp/train/trainer.py", CONFIG, *overrides)
    return [float(loss) for loss in re.findall(r"\| loss: ([\d.E+-]+|NAN|INF) \|", printed)]


def test_the_config_as_shipped_trains_on_two_ranks_from_the_meta_device(repo: Path) -> None:
    losses = train(repo)
    assert len(losses) == 5
    assert all(math.isfinite(loss) for loss in losses)
    assert losses[-1] < losses[0]


def test_a_run_continues_from_the_checkpoint_it_saved(repo: Path) -> None:
    weights_only = (f"training.load={CHECKPOINT}", "training.no_load_optim=true", "training.no_load_rng=true")
    first = train(repo, *weights_only, "training.save=saved", "features.enable_chunk_loss=false")
    then = train(repo, "training.load=saved/iter_0000005", "training.train_iters=7")
    assert (len(first), len(then)) == (5, 2)
    assert then[0] < first[0]


def test_both_routes_of_modelhub_build_the_same_model(repo: Path) -> None:
    shutil.copytree(repo / CHECKPOINT, repo / "custom")
    printed = run(repo, "-c", ROUTES, CONFIG)
    by_transformers, by_custom, on_meta = json.loads(printed.split("RESULT ")[1].splitlines()[0])
    assert math.isfinite(by_transformers)
    assert by_custom == pytest.approx(by_transformers, rel=1e-6), "the weights were loaded on one route only"
    assert on_meta
