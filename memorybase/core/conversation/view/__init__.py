"""The engine: records in, a view out. It uses no SQL, no clock and no model.

build           build_view: the steps in order, and the report of what each did; start here
records         Record, what a log holds and a view consists of; NIL parents
files           FileRef, and resolvers, which turn one into a content part
threads         the thread of a conversation with branches
content_parts   content parts as chat completions take them
turns           groups (a tool call and its results), turns, and messages that no model accepts
clearing        replaces the content of old tool results, and old images
limits          selects whole units that fit
budget          limits and a summary together, and messages truncated to fit
rendering       tool calls and results in the order that models take, alignment, OpenAI's or LangChain's shape,
                or text with role prefixes
tokens          TokenCounter, and what counts besides text
token_counters  counters by name: the estimate, a Hugging Face tokenizer, tiktoken
"""

from __future__ import annotations
