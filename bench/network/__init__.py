"""Network namespaces that a switch joins: partitions, delays and losses between processes of one machine.

Traffic never leaves the machine. Namespaces and devices have no names, so nothing remains when the processes end. Needs
Linux, root and /dev/net/tun.
"""

from __future__ import annotations
