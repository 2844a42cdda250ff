"""Adapters for other runtimes, each an optional extra. Only the API and the command line import one of them: mcp.

flow_memory   FlowMemory, by HTTP (OverHttp) or within the process (InProcess)
langchain     ChatHistory and MemoryRetriever
mcp           the tools of the MCP server
langgraph     memory nodes, and RunHook, which captures each run
"""

from __future__ import annotations
