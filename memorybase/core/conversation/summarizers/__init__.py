"""Summarizers, and the job that runs them.

llm          the Summarizer protocol; summarizer_named returns the configured one
chat_completions   the client of OpenAI-compatible endpoints
extractive   extract chooses sentences of the conversation, without a language model
job          make_summary makes what is pending of one, whatever it is a summary of
"""

from __future__ import annotations
