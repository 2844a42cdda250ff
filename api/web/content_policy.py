"""The Content-Security-Policy of the pages: scripts from this server, and inline ones with the page's nonce.

NiceGUI needs two exceptions: it compiles templates and runs scripts of the server with eval, and Quasar sets style
attributes. Neither lets text that a page shows become a script.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

from jinja2 import BaseLoader, Environment
from starlette.types import Scope

_NONCE = "csp_nonce"  # in the scope of a request
_POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'"
)


def policy_for(scope: Scope) -> str:
    """The policy of the answer to this request; it allows the nonce that the page's template writes."""
    return _POLICY.format(nonce=scope[_NONCE])


def choose_nonce(scope: Scope) -> None:
    """Before the page is built."""
    scope[_NONCE] = secrets.token_urlsafe(16)


def add_nonces(templates: Environment) -> None:
    """Let a library's page template mark its own scripts; what is inserted into the template is not marked."""
    if templates.loader is not None:
        templates.loader = _WithNonces(templates.loader)


class _WithNonces(BaseLoader):
    def __init__(self, loader: BaseLoader) -> None:
        self._loader = loader

    def get_source(self, environment: Environment, template: str) -> tuple[str, str | None, Callable[[], bool] | None]:
        source, path, is_current = self._loader.get_source(environment, template)
        return source.replace("<script", f'<script nonce="{{{{ request.scope.{_NONCE} }}}}"'), path, is_current
