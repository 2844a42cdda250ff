"""agent-memory-benchmark of vectorize-io (Python)."""
