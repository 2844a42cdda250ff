"""Session memory: what a model is given of a captured session, by presets and summaries of older messages (FlowX).

session_view  a preset's view of a session: the newest messages and a summary of the older ones; start here
presets       flowx_5, flowx_6, token_buffer and window
pairs         pairs of a question and its reply, and their text
summaries     read, request, delete and refresh summaries
summary_job   what the job of summarizers does for a session; make_summary makes one, in a worker
"""

from __future__ import annotations
