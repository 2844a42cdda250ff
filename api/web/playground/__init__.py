"""The playground without its web framework: what is asked, how results are shown, compared, and written as code. Pure.

asked      the question and its settings, from an address and to one; requests of the domain
shown      results: marked words, bands, the walk of a score
given      what a model would be given, and what is left out and why
compare    how results moved between two settings
code       the same search and context as code to copy
"""

from __future__ import annotations
