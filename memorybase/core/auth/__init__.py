"""Authentication: API keys, and web sessions that an API key opened.

api_keys      create, list, rotate, revoke and authenticate keys; their scopes
limits        what a limited key may touch
web_sessions  one-time sign-in links and session cookies of the web page

Others call `api_keys.authenticate` and `web_sessions.principal_of`; both return a Principal.
"""

from __future__ import annotations
