"""Later messages that say something else about what a question asks for: "was 300 ms, now 250 ms".

    marking      marks and orders the hits of a search; start here
    pairs        what a question asks for, and the pairs of sentences that correct each other
    chains       values that return, and corrections of corrections
    replacements  sentences that tell a change without a value
    changes      whether one statement tells a change of another one
    claims       sentences that claim to have done something, or deny it
    statements   sentences that state a value
    values       numbers, dates, times, percentages and names in a sentence

Everything but `marking` is pure. Requests and hits declare their fields of corrections themselves.
"""

from __future__ import annotations
