"""Records the memory that each node's model was given; deletions redact it.

record       record_use stores the memory that a model was given, by run and node; run_memory shows it
given        record_given stores memory that a client itself gave a model
provenance   whether everything that a view was built from is still stored
redaction    redact_quotes removes quotations of a deleted message
"""

from __future__ import annotations
