"""ModelHub and the model plugins, one folder each."""
