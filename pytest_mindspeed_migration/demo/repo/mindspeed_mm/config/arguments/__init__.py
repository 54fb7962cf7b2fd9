"""The base class of all argument classes."""
