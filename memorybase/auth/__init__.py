"""Who may call: API keys, and browsers that a key has signed in.

api_keys      keys made, listed, revoked and looked up; their scopes
web_sessions  one-time links and signed cookies of the web page
queries       the rows of both
"""

from __future__ import annotations
