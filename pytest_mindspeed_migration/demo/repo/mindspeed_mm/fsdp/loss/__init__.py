"""Loss functions selected by the YAML file."""
