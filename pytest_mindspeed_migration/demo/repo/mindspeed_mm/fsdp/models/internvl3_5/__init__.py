"""InternVL3.5 as a model plugin, on the classes Transformers ships."""
