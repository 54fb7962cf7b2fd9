"""What can be said of a built model without weights: its tree, its plans, its checkpoint, its special tokens."""
