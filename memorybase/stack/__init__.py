"""The embedded stack: Redis, Chroma, a worker, the sweeper and the API as child processes over one data directory.

`state` is what is kept in the data directory (the lock, stack.json, the API key, the log files), `children` the five
command lines, `redis_server` finds and configures Redis, `processes` starts, restarts and ends children, and `run` is
`memorybase up`, from the lock to the last child's end.
"""
