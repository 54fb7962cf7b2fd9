"""Arguments and constants of reading conversations."""
