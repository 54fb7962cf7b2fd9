"""Programs for the target's interpreter: they need nothing but the standard library and what the target has."""
