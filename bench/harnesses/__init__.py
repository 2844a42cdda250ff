"""memorybase as a memory in the harnesses of others, see bench/harnesses.md.

Their folders are here under their own names, each with memorybase's part, to be copied, and the interface that it
needs, as we read it, so that it runs here without the harness.
"""
