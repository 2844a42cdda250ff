"""Reads other systems' conversations as runs of flows. It only reads the source; `Client.capture_run` stores:

    from memorybase_client.importers import records, systems

    source, report = systems.ImportSource("export.zip"), records.Report()
    for part in systems.read_runs("chatgpt", source, report):
        client.capture_run(part.flow, session_id=part.session_id, run_id=part.run_id, messages=part.messages)

Records in, runs out, one at a time, so memory does not grow with the file:

records    `RawRecord`, `Found`, and the `Report` of the data that did not fit
files      `read_records`: JSON files, folders and ZIP archives as records
queries    `read_rows`: the rows of a table as records; needs the extra `importers`
chatgpt    `read`: a system's records as messages; so do the other modules that are named after a system
claude, langchain, langflow, mem0, letta, zep, agent_memory_server
runs       `runs_of`: messages repaired and grouped into runs, and checked if the caller has the server's rules
systems    `SYSTEMS`, `ImportSource`, and `read_runs`: a source to the runs in it
recognise  `recognise`: the format of a source, by its content

Message ids come from the system, so importing a source again stores nothing twice.
"""

from __future__ import annotations
