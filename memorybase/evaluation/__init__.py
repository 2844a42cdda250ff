"""How good a search is, measured on questions whose answering messages are known, and weights fitted to such questions.

    questions     a file of questions, each with the ids of the messages that answer it
    metrics       NDCG, recall, and how far a figure may be off by chance
    calibration   what scores are worth: right ones by score, false alarms and misses by min_score
    fitting       the weights of the signals that put the answering messages first, with one group left out each time
    tuning        the same for few questions, held near the default weights, and what it gains on questions not seen

Pure: what was found goes in, figures and weights come out. The benchmark and `memorybase evaluate` and `tune` use it.
"""

from __future__ import annotations

from memorybase.evaluation.fitting import Asked, Fit, cross_validate, fit
from memorybase.evaluation.metrics import Judged, Summary, summarize
from memorybase.evaluation.questions import Question, read_questions
from memorybase.evaluation.tuning import Tuned, tune

__all__ = [
    "Asked",
    "Fit",
    "Judged",
    "Question",
    "Summary",
    "Tuned",
    "cross_validate",
    "fit",
    "read_questions",
    "summarize",
    "tune",
]
