"""The device mesh and FSDP2 sharding."""
