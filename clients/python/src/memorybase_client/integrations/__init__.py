"""Adapters between agent frameworks and memorybase, one module each. Every one needs the extra of its name:
`pip install './clients/python[openai-agents]'`. They are built on AgentMemory, so none fails or holds up its host."""
