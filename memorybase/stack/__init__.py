"""The embedded stack: Redis, Chroma, a worker, the sweeper and the API as child processes with one data directory.

run            `memorybase up`: `run_stack`, from the lock on the directory until the last child has ended
children       the command lines of the five children
redis_server   finds and configures Redis
processes      starts, restarts and stops children; `end_leftovers` stops those of a killed stack
watch          restarts children that run but do not work
private        modes of files: other users of the machine read none
state          the data directory: lock, stack.json, API key, logs; `settings_in_use` for other commands
compaction     removes what was deleted from the files of the stack; chroma_files: from Chroma's
restore        puts the files of a restore into the data directory, also after a kill
child          a whole stack as one child process of a command, such as the demo
"""
