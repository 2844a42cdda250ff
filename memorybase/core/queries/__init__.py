"""Every SQL statement and condition, one file for each thing. The session comes first; none commits.

The type that a statement returns is next to it. A list of the page is in the file of its objects, or in
`<thing>_lists`.

flows, sessions, runs, messages        what is captured; session_lists, text_filter: lists of sessions
threads                                which message follows which; a session read along one thread
pending                                the messages that a memory base counts, and those of them that are pending or due
coverage                               how far messages are in each memory base: held, failed, found by meaning
joins                                  which rows belong together and to whom, as conditions by name
planner_hints                          hints against wrong plans, by name
memory_bases, cursors                  memory bases, generations, the progress of sessions
memory_base_lists, base_sessions       lists of memory bases; of the sessions of one
preparations, planned_deletions        pending work for each session; planned deletions
jobs, ledger, dead_letters, token_vectors, heartbeats   ingestion; job_lists: lists and actions of operators
store_health, embedding_usage          whether the vector stores work; requests to embedding endpoints
message_changes, restorable_messages   curation of single messages
deleted_messages, erasure, residues    traces of deletions in SQL and in files; the rows of a deleted session
expiry                                 when stored data expires
summaries, chats, memory_uses, node_executions   conversation memory
end_users, caller_ids, ownership       people; rows by the ids of callers; the row that a user owns, or NotFound
search, search_pending   reads of a search, and their indexes; keyword_index, keyword_partitions: its words
overview, problems, statistics         Home; problems for a person; figures of the whole database
timestamps                             times that lie too far ahead
knowledge_bases                        the registry of knowledge bases
credentials, key_limits                users, API keys, sign-in links; the owner of what a limited key names
idempotency_keys                       requests that may be repeated
exports                                the rows of an export, in pages
"""
