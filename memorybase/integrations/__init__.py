"""Integrations that the server itself serves. Adapters for frameworks, importers and hooks are in the Python client.

spans          conversations in OpenTelemetry spans, for the API
coding_agents  the path at which hooks that were installed earlier look for their script
"""

from __future__ import annotations
