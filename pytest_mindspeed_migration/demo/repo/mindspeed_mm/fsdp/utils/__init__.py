"""Registers, logging, pattern matching, devices."""
