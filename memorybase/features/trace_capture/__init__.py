"""Capture from traces: conversations in OpenTelemetry spans of model calls become runs.

spans     spans to runs, by the semantic conventions for generative AI
routes    the address that an OTLP exporter sends to
"""

from __future__ import annotations
