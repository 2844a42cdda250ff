"""Reads other systems' conversations as runs of flows. Pure but for reading the source: no database of ours, no API of
ours.

Records in, runs out, one at a time, so memory does not grow with the file:

records    `RawRecord`, `Found`, and the `Report` of the data that did not fit
files      `read_records`: JSON files, folders and ZIP archives as records
queries    `read_rows`: the rows of a table as records
chatgpt    `read`: a system's records as messages; so do the other modules that are named after a system
claude, langchain, langflow, mem0, letta, zep, agent_memory_server
runs       `runs_of`: messages checked, repaired and grouped into runs that the API accepts
systems    `SYSTEMS`, `ImportSource`, and `read_runs`: a source to the runs in it
recognise  `recognise`: the format of a source, by its content
batches    `batches`: runs as the lines that the API imports

Message ids come from the system, so importing a source again stores nothing twice.
"""

from __future__ import annotations
