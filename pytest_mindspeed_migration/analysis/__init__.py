"""Derived from facts, still without judgement: which name means what, which class inherits what, who calls whom."""
