"""Two versions beside each other under load, with the migration in the middle; `python -m upgrade` runs it.

versions.py   the tree of an older version, and how its processes are started
rollout.py    processes of both versions over one database, replaced one by one
features.py   what only the new version knows, and what the old one makes of it
run.py        the whole upgrade, forward, back and forward again, and what must hold afterwards
"""

from __future__ import annotations
