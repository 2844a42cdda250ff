"""Who writes summaries.

llm          the protocol, and chat models over HTTP
extractive   sentences of the conversation itself, without a language model
enqueue      tells a worker, after the commit
"""

from __future__ import annotations
