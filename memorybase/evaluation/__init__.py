"""Measures searches on questions with known answers, and fits weights to such questions. Pure.

    questions     reads a file of questions, each with the ids of the messages that answer it
    metrics       NDCG and recall with confidence intervals
    calibration   how scores relate to right results: by score, and false alarms and misses by min_score
    fitting       weights that rank the answering messages first, cross-validated by group
    tuning        the same for few questions: weights near the default ones, and their gain on unseen questions
    model_data    messages and questions to compare embedding models on
    model_comparison  recall, time and size of each, and the gain of one over the other

The benchmark, `memorybase evaluate` and `memorybase tune` use it.
"""

from __future__ import annotations

from memorybase.evaluation.fitting import Fit, JudgedCandidates, cross_validate, fit
from memorybase.evaluation.metrics import Judged, Summary, summarize
from memorybase.evaluation.questions import Question, read_questions
from memorybase.evaluation.tuning import Tuned, tune

__all__ = [
    "Fit",
    "Judged",
    "JudgedCandidates",
    "Question",
    "Summary",
    "Tuned",
    "cross_validate",
    "fit",
    "read_questions",
    "summarize",
    "tune",
]
