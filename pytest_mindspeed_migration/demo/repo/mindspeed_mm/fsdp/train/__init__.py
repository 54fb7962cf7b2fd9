"""Trainer and training loop."""
