"""Features that trade compute for memory."""
