"""One argument class for each section of the YAML file."""
