"""Memory for coding agents: hooks that capture their sessions and recall at each prompt.

agents          the agents: where each keeps its settings, and the entries that are added to them
settings        read and change an agent's settings, touching only our entries
install         install, uninstall, and the lines of `memorybase doctor` about this machine
hook.py         the script that agents run; it imports nothing of memorybase
transcripts.py  reads an agent's transcripts for the script
"""

from __future__ import annotations
