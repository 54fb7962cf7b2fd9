"""Image-text conversations for InternVL3.5."""
