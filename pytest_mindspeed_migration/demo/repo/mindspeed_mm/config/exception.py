"""Errors of configuration loading."""


class ConfigValidationError(ValueError):
    """A configuration file that cannot be used; the message names the file and the field."""
