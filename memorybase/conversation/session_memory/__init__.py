"""What a model is given of a captured session: presets, and summaries of older messages (FlowX).

presets       session_memory builds the view from the newest messages and a summary of the older ones
summaries     read, request, delete and refresh summaries
summary_job   make_summary makes one, in a worker
"""

from __future__ import annotations
