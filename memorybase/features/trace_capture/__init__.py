"""Capture from traces: conversations in OpenTelemetry spans of model calls become runs.

spans     spans to runs, by the semantic conventions for generative AI
routes    the address that an OTLP exporter sends to
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memorybase.extension import Extension

if TYPE_CHECKING:
    from api.extension import Routes


def _routes() -> Routes:
    from memorybase.features.trace_capture import routes

    return routes.ROUTES


EXTENSION = Extension(name="trace_capture", routes=_routes)
