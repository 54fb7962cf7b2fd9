"""Loading and saving of sharded models."""
