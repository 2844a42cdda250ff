"""The reference page at /docs: Swagger UI over the OpenAPI document, from an installed package, so it works offline.

The page needs no key, as the document needs none; calls from it do. The package is optional, and only its files are
used: none of its code runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse

from memorybase.core import errors

PACKAGE = "fastapi_swagger"
HERE = Path(__file__).parent
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
HEADERS: Mapping[str, str] = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}

router = APIRouter(include_in_schema=False)


@router.get("/docs")
def reference_page() -> FileResponse:
    return _file(HERE / "index.html")


@router.get("/docs/start.js")
def reference_script() -> FileResponse:
    return _file(HERE / "start.js")


@router.get("/docs/swagger-ui-bundle.js")
def reference_bundle() -> FileResponse:
    return _file(_resources() / "swagger-ui-bundle.js")


@router.get("/docs/swagger-ui.css")
def reference_style() -> FileResponse:
    return _file(_resources() / "swagger-ui.css")


def _file(path: Path) -> FileResponse:
    _resources()
    return FileResponse(path, headers=HEADERS)


@cache
def _resources() -> Path:
    """The files of the package; raises NotFound with advice if it is not installed."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise errors.NotFound(errors.lacks_extra("The reference page", "docs"))
    return Path(spec.origin).parent / "resources"
