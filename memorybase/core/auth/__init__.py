"""Authentication: API keys, web sessions that an API key opened, and access tokens of an authorization server.

access_tokens     verify access tokens, and what their claims allow
api_keys          create, list, rotate, revoke and authenticate keys; their scopes
issuer            metadata and signing keys of the authorization server
limits            what a limited key may touch
provider_sign_in  sign-in to the web page at that server
web_sessions      one-time sign-in links and session cookies of the web page

Others call `authenticate` of api_keys and of access_tokens, and `web_sessions.principal_of`; all return a Principal.
"""

from __future__ import annotations
