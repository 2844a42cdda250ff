"""The lab: people judge what searches find, and commands measure searches, fit their weights and compare models.

    labels        messages marked as right or wrong for a question, and their export as questions
    questions     reads a file of questions, each with the ids of the messages that answer it
    metrics       NDCG and recall with confidence intervals
    calibration   how scores relate to right results: by score, and false alarms and misses by min_score
    fitting       weights that rank the answering messages first, cross-validated by group
    tuning        the same for few questions: weights near the default ones, and their gain on unseen questions
    card          the licence and the prefixes that a model's card states
    model_data    messages and questions to compare embedding models on
    model_comparison  recall, time and size of each, and the gain of one over the other
    models, queries, hooks; routes, page and commands for the API, the playground and the command line

Only labels are in the server. The commands measure from outside, through the API, as the benchmark does. The weights
that a fit stores belong to the search.
"""

from __future__ import annotations
