"""The source of the client. `python clients/python/generate.py` writes memorybase_client/_sync from it."""
