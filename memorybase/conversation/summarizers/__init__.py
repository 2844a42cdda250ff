"""Who writes summaries.

llm          the protocol, and chat models over HTTP
extractive   sentences of the conversation itself, without a language model
job          what the jobs of sessions and chats share: folding, leases, notifications
"""

from __future__ import annotations
