"""Follows the configuration through the framework's code: from the trainer's arguments to whoever reads a key.

An abstract interpretation, without running anything: a value is a node of the YAML tree, an instance or class of the
repo, a function, or unknown. Functions are parsed one by one as the configuration reaches them.
"""
