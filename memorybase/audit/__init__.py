"""The audit log: who changed or read what, when, and from where; never the text.

record    an entry in the transaction of its change, or in its own
chain     sealing, verifying and pruning: each entry's hash covers the one before it
entries   list and export

An entry is written with its change, so there is none without the other. Sealing happens later, in the sweeper: a chain
in the transaction of a change would make every change wait for the one before it.

Others call `record.Recorder` and `chain.seal`, and `chain.verify` to check the log.
"""

from __future__ import annotations
