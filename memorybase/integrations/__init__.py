"""The path at which hooks of coding agents that were installed earlier look for their script, which is the client's."""

from __future__ import annotations
