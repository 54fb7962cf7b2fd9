"""Reads a target repo into facts: Python by AST, YAML by its node tree, shell and Markdown by line. Runs nothing of it."""
