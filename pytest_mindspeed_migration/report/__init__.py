"""Reports: what a run found, for the terminal and as files."""
