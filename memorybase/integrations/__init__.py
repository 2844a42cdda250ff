"""Adapters for other people's runtimes, each an optional extra. Nothing else imports them."""

from __future__ import annotations
