"""Labels: people say which found messages are right for a question, so that searches can be measured on them.

labels     mark, list, remove and export; `memorybase evaluate --labels` reads the export
queries    the statements
"""

from __future__ import annotations
