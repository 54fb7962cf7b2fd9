"""Reading a YAML file into typed arguments."""
