"""Secrets in what is captured: keys, passwords and what people mark as private are replaced before anything stores or
logs them.

    rules         keys that have a shape of their own, each with where that is documented
    names         secrets that the name beside them tells
    finder        finds both in texts and in JSON
    placeholders  what takes a secret's place
    screening     what a flow does with secrets that callers send: keep, redact or refuse
    scan          the same for what is stored already
    models, queries, hooks; routes and commands for the API and the command line
"""

from __future__ import annotations
