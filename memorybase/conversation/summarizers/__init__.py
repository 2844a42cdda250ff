"""Summarizers, and the job that runs them.

llm          the Summarizer protocol; summarizer_named returns the configured one
chat_completions   the client of OpenAI-compatible endpoints
extractive   extract chooses sentences of the conversation, without a language model
job          what the jobs of sessions and chats share: folding, leases, notifications
"""

from __future__ import annotations
