"""The engine: records in, a view out. Pure.

build           the order of all that follows, and the report
records         Record, what a log holds and a view is made of; NIL parents
files           FileRef, and the resolver that turns one into a content part
turns           a tool call with its results; turns; what no model accepts
threads         the thread of a conversation with branches, and Dify's walk to compare with
tokens          TokenCounter, and what is counted beside text
token_counters  counters by name: the estimate, a Hugging Face tokenizer, tiktoken
tool_results    tool results emptied
images          the image budget
limits          what fits, in whole units
truncate        one message cut to fit
budget          limits and a summary together
rendering       aligned, in OpenAI's or LangChain's shape
transcript      as text, with role prefixes
"""

from __future__ import annotations
