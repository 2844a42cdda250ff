"""The database's history, one revision a file in versions/; run by memorybase.core.database.migrate."""
