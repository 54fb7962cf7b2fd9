"""Evidence: what was run, when, with which outcome, and where its log is."""
