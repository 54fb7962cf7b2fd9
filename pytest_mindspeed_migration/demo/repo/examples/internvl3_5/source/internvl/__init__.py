"""Stands for the repository the model is migrated from: one device, no sharding, no registers."""
