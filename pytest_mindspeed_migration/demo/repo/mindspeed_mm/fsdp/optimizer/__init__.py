"""Optimizer, learning-rate schedule, gradient clipping."""
