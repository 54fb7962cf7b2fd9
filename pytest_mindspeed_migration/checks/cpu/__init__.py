"""Checks of runtime facts, level cpu: pure functions of what probes showed."""
