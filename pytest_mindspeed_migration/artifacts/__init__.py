"""The artifacts of a migration: what the five stages hand over, from records, facts and the manifest alone."""
