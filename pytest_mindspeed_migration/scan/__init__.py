"""Reads a target repo into facts: Python by AST, YAML by its nodes, shell and Markdown by line. Runs nothing of it."""
