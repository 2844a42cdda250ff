"""What is captured, out as JSON lines and in again. SQL only: every store is made again from it.

exporter             a user's, a flow's or a session's rows as lines
importer             lines written again, in one transaction a page
lines                the form of a line
node_memory          node executions and what models were given
conversation_files   JSON lines and LoCoMo files as runs of a flow
queries              the rows, in pages
"""

from __future__ import annotations
