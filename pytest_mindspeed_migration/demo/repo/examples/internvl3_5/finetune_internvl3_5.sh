#!/bin/bash
# Run from the root of the repo.
CANN_ENV=${CANN_ENV:-/usr/local/Ascend/ascend-toolkit/set_env.sh}
if [ -f "$CANN_ENV" ]; then source "$CANN_ENV"; fi
export PYTHONPATH=${PWD}:${PYTHONPATH}
export NON_MEGATRON=true
export TOKENIZERS_PARALLELISM=false
export HCCL_CONNECT_TIMEOUT=1200
export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
export MULTI_STREAM_MEMORY_REUSE=2
export TASK_QUEUE_ENABLE=1

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
