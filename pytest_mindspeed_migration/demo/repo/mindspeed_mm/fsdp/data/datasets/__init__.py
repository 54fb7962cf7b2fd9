"""Dataset plugins, one folder each."""
