"""How good a search is, measured on questions whose answering messages are known, and weights fitted to such questions.

    metrics    NDCG, recall, and how far a figure may be off by chance
    fitting    the weights of the signals that put the answering messages first, with one group left out each time

Pure: what was found goes in, figures and weights come out. The benchmark and `memorybase evaluate` and `tune` use it.
"""

from __future__ import annotations

from memorybase.evaluation.fitting import Asked, Fit, cross_validate, fit
from memorybase.evaluation.metrics import Judged, Summary, summarize

__all__ = ["Asked", "Fit", "Judged", "Summary", "cross_validate", "fit", "summarize"]
