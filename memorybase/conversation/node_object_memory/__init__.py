"""Node memory as objects in a store, without a database.

node_memory    what a node reads and appends
append_log     a JSON document that many writers append to at once
object_store   directories and S3
"""

from __future__ import annotations
