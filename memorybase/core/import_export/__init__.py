"""Export captured data as JSON lines, and import them. SQL only: vector stores are rebuilt from it.

exporter             `export`: the rows of a user, a flow or an end user as lines
importer             `import_lines`: stores lines, through capture
lines                the format of a line
chats                lines of chat memories
node_memory          lines of node executions and memory uses
conversation_files   `read_runs`: JSON lines and LoCoMo files as runs of a flow
sample               sample data for a first look: `runs`, `load` and `remove`
"""

from __future__ import annotations
