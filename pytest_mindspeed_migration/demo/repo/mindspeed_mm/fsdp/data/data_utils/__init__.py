"""What datasets share."""
