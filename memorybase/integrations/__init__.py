"""Integrations that the server itself serves or installs. Adapters for frameworks are in the Python client,
memorybase_client.integrations.

spans          conversations in OpenTelemetry spans, for the API
coding_agents  hooks of Claude Code, Codex and Cursor, for the command line: capture sessions, recall at each prompt
"""

from __future__ import annotations
