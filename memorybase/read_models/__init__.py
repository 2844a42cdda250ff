"""What the API's lists and reads show, always within one user. Read-only: nothing here locks.

sessions       flows, sessions, runs and messages       session_queries
branches       the branches of a session
memory_bases   memory bases, their sessions, builds     memory_base_queries
jobs           ingestion jobs and dead letters
activity       captured and ingested messages over time  activity_queries
views          copies rows into views
"""

from __future__ import annotations
