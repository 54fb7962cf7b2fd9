#!/bin/bash
# Run from the root of the repo.
export PYTHONPATH=${PWD}:${PYTHONPATH}
export TOKENIZERS_PARALLELISM=false

DEVICES_PER_NODE=2
NNODES=1
NODE_RANK=0
MASTER_ADDR=localhost
MASTER_PORT=6000

DISTRIBUTED_ARGS="
    --nproc_per_node $DEVICES_PER_NODE \
    --nnodes $NNODES \
    --node_rank $NODE_RANK \
    --master_addr $MASTER_ADDR \
    --master_port $MASTER_PORT
"

config_path=examples/internvl3_5/internvl3_5_config.yaml
logfile=logs/internvl3_5_$(date +%Y%m%d_%H%M%S).log
mkdir -p logs

torchrun $DISTRIBUTED_ARGS mindspeed_mm/fsdp/train/trainer.py \
    ${config_path} \
    2>&1 | tee ${logfile}
