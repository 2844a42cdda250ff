"""Written by clients/python/generate.py from memorybase_client/_async, all but waiting.py."""
