"""Adapters for other runtimes, each an optional extra. Nothing else imports them.

flow_memory   FlowMemory, by HTTP (OverHttp) or within the process (InProcess)
langchain     ChatHistory and MemoryRetriever
langgraph     memory nodes, and RunHook, which captures each run
"""

from __future__ import annotations
