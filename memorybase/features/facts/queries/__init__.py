"""SQL of facts.

facts           facts and their sources; usage of distillation
distillations   progress of each session: requested by ingestion, outdated by changes
fact_deletion   deletes facts, and hands on what links to them
"""
