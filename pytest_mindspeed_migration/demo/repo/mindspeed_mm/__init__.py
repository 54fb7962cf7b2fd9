"""Clean-room stand-in for MindSpeed-MM: the interfaces of its FSDP2 backend at a size a reader can hold."""
