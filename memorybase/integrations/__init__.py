"""Adapters for other runtimes, each an optional extra but coding_agents. The API imports spans, the command line
coding_agents; nothing else imports one.

flow_memory   FlowMemory, by HTTP (OverHttp) or within the process (InProcess)
langchain     ChatHistory, of a Chat Memory node
spans         conversations in OpenTelemetry spans
langgraph     memory nodes, and RunHook, which captures each run
coding_agents hooks of Claude Code, Codex and Cursor: capture their sessions, recall at each prompt
"""

from __future__ import annotations
