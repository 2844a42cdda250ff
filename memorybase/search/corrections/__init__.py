"""Later messages that say something else about what a question asks for: "was 300 ms, now 250 ms".

    hits             marks and orders the hits of a search; start here
    pairs            what a question asks for, and the pairs of sentences that correct each other
    statements       sentences that state a value
    changes          whether a later statement gives another value for the same thing
    claims           sentences that claim or deny that something was done
    values           a value as the two modules below find it
    english_values   numbers, dates, times, percentages and names
    foreign_values   the same in other languages, without names
    likeness         how alike two texts are, on a scale that means the same with every model
    texts            what people and models read about them

Everything but `hits` and `likeness` is pure.
"""

from __future__ import annotations
