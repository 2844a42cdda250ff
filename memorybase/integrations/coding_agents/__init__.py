"""Memory for coding agents: hooks that capture their sessions and recall at each prompt.

agents          the agents: where each keeps its settings, and the entries that are added to them
settings        read and change an agent's settings, touching only our entries
install         install, uninstall, and what `memorybase doctor` says of this machine
hook.py         what the agents run: a script of its own, which imports nothing of memorybase
transcripts.py  what the script reads of an agent's transcripts
"""

from __future__ import annotations
