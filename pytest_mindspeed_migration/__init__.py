"""Contract tests for porting multimodal models to MindSpeed-MM's FSDP2 training backend."""

__version__ = "0.1.0"
