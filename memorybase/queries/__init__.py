"""Every SQL statement, a function per question, by noun. Session first, domain values after; none commits."""
