"""Optional memory features applied around sharding."""
