"""SQL of facts.

facts           facts and their sources; usage of distillation
distillations   progress of each session: requested by ingestion, outdated by changes, claimed, stored
fact_deletion   deletes facts, and hands on what links to them
"""
