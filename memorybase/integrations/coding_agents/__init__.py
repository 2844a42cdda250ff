"""The path of the hook in the settings of agents, as it was before the hooks were part of the Python client."""

from __future__ import annotations
