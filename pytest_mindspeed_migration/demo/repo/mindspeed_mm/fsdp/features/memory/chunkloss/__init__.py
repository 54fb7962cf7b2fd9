"""Language-model loss computed chunk by chunk."""
