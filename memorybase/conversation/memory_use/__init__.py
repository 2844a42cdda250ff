"""What each node's model was given, and what deletions take out of it.

record       which memory a model was given, by run and node
provenance   whether what a view was made of is still stored
redaction    quotations of deleted messages taken out of records and contexts
"""

from __future__ import annotations
