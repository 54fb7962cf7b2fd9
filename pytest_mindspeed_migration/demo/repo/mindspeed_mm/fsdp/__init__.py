"""The FSDP2 backend: arguments, registers, data, parallelism, training."""
