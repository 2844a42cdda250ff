"""What a model is told of a captured session: presets, and summaries of what is older (FlowX).

presets       from the newest messages and a summary of those before
transcript    a session as text
summaries     what there is of them, and how one is requested
summary_job   making them, in a worker
"""

from __future__ import annotations
