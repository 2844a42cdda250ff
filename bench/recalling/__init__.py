"""What a search finds, measured: corpora in one form, questions asked over HTTP, naive searches beside it."""
