"""The limit of open files of this process. Each connection is one."""

from __future__ import annotations

import sys

MOST_FILES = 65_536


def raise_file_limit() -> int:
    """Raise the limit as far as this process may; the limit now."""
    if sys.platform == "win32":
        return MOST_FILES  # its limit is of the C library's files, which sockets are not
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return MOST_FILES if soft == resource.RLIM_INFINITY else soft
