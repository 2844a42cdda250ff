"""SQL statements of several packages, one function each, by table. The session comes first; none commits.

sessions, deleted_messages           flows, sessions, runs, messages
message_changes, restorable_messages curation of single messages
memory_bases, cursors                memory bases, generations, the progress of sessions
passed_sessions                      sessions without pending messages
collection_owners                    which collections of the vector store SQL knows
store_health                         do the vector stores work?
jobs, ledger, dead_letters, token_vectors, heartbeats   ingestion
search                               what a search reads: facts of candidates, found messages
keyword_index, keyword_partitions    postings, speakers, languages
embedding_usage                      what embedding endpoints were asked for
distillations                        how far sessions are distilled, and the facts that changes outdate
ownership                            the row that a user owns, or NotFound
threads, summaries, chats, memory_uses, node_executions   conversation memory
"""
