"""Shared code of the search benchmarks: the command line, corpora, a loaded stack, and naive searches."""
