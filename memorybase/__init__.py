"""memorybase: the memory of LLM flows."""

__version__ = "0.1.0"
