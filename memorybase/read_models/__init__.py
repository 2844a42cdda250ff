"""What every list and look-up of the API shows, within one user. Reading only: nothing here locks.

sessions       flows, sessions, runs and messages       session_queries
branches       the branches of a session
memory_bases   memory bases, their sessions, builds     memory_base_queries
jobs           ingestion jobs and dead letters
activity       what was captured and ingested when      activity_queries
"""

from __future__ import annotations
