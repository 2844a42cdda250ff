"""Mixed load on the embedded stack while its disk fills, its clock is stepped and malformed queue messages arrive;
`python -m soak` runs it."""

from __future__ import annotations
