"""Runs the hook of the Python client. Hooks that were installed before it moved there name this file, until
`memorybase hooks install` writes its path."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    packages = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
    sys.path += [packages, os.path.join(packages, "clients", "python", "src")]  # installed, and in the repository
    from memorybase_client.coding_agents.hook import main

    main(sys.argv[1:])
