"""The signed-in key behind a request: how a view calls the domain, and the pages that it answers with."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import quote
from uuid import UUID

from anyio import move_on_after, to_thread
from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response

from api.web import calls, csrf, rendering, responses
from api.web.calls import Recorder
from api.web.deadlines import Deadlines
from api.web.same_origin import SAFE
from memorybase.core import errors
from memorybase.core.auth import web_sessions
from memorybase.core.auth.api_keys import SCOPES, Principal
from memorybase.core.callers import acting_as
from memorybase.core.services import Services
from memorybase.core.validation import check_text

COOKIE = "memorybase_session"

P = ParamSpec("P")
Result = TypeVar("Result")


class Visit:
    """One request of a signed-in key. All its calls of the domain go through here."""

    def __init__(
        self, request: Request, services: Services, token: str, principal: Principal, recorder: Recorder | None = None
    ) -> None:
        self.request = request
        self.services = services
        self.principal = principal
        self._token = token
        self._recorder = recorder  # of what a form changes

    # What templates ask

    @property
    def root(self) -> str:
        """The prefix of every link between pages."""
        return root_of(self.request)

    @property
    def origin(self) -> str:
        """The API's address as this browser reaches it."""
        return str(self.request.base_url).removesuffix("/").removesuffix("/ui")

    @property
    def deadlines(self) -> Deadlines:
        """How long this page waits for parts that may hang."""
        found: Deadlines = self.request.app.state.deadlines
        return found

    @property
    def theme(self) -> str:
        return rendering.theme_of(self.request)

    @property
    def csrf(self) -> str:
        """A token for the forms of this page."""
        return csrf.issue(self._token)

    @property
    def scopes(self) -> list[str]:
        return [scope for scope in SCOPES if scope in self.principal.scopes]

    def may(self, scope: str) -> bool:
        return scope in self.principal.scopes

    @property
    def is_fragment(self) -> bool:
        """Whether htmx asks, for a part of the page."""
        return "hx-request" in self.request.headers

    # Calls of the domain

    async def read(
        self, function: Callable[Concatenate[Services, UUID, P], Result], *args: P.args, **kwargs: P.kwargs
    ) -> Result:
        """Call a function of the domain for this user. Raises its errors and Forbidden."""
        return await self._call("read", function, *args, **kwargs)

    async def write(
        self, function: Callable[Concatenate[Services, UUID, P], Result], *args: P.args, **kwargs: P.kwargs
    ) -> Result:
        """Call a function of the domain that needs the scope write. Raises its errors and Forbidden."""
        return await self._call("write", function, *args, **kwargs)

    async def admin(
        self, function: Callable[Concatenate[Services, UUID, P], Result], *args: P.args, **kwargs: P.kwargs
    ) -> Result:
        """Call a function of the domain that needs the scope admin. Raises its errors and Forbidden."""
        return await self._call("admin", function, *args, **kwargs)

    async def within(
        self,
        seconds: float,
        function: Callable[Concatenate[Services, UUID, P], Result],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Result:
        """`read` with a deadline, for what may hang; raises TimeoutError. The call itself goes on in its thread."""
        self.principal.require("read")
        with move_on_after(seconds), acting_as(self.principal.charged):
            return await to_thread.run_sync(
                partial(function, self.services, self.principal.user_id, *args, **kwargs), abandon_on_cancel=True
            )
        raise TimeoutError

    async def _call(
        self,
        scope: str,
        function: Callable[Concatenate[Services, UUID, P], Result],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Result:
        self.principal.require(scope)
        with self._recording(), acting_as(self.principal.charged):
            return await run_in_threadpool(function, self.services, self.principal.user_id, *args, **kwargs)

    async def sign_out(self) -> None:
        """Close this session."""
        with self._recording():
            await run_in_threadpool(web_sessions.close, self.services, self._token)

    def _recording(self) -> AbstractContextManager[None]:
        return nullcontext() if self._recorder is None else self.services.database.before_commit(self._recorder)

    # Answers

    def page(self, template: str, *, place: str, title: str, status: int = 200, **values: Any) -> Response:
        """A whole page. `place`: the entry of the navigation that it belongs to."""
        return responses.page(self.request, template, status, visit=self, place=place, title=title, **values)

    def settings(self, template: str, tab: str, title: str, **values: Any) -> Response:
        return self.page(template, place="settings", title=title, tab=tab, **values)

    def fragment(self, template: str, **values: Any) -> Response:
        """A part of a page, for htmx."""
        return responses.page(self.request, template, visit=self, **values)

    def live(self, template: str, **values: Any) -> Response:
        """A part that the browser asks for again and again: 204 while it is as the browser has it, whose version is in
        the query's `seen`. The template writes `version` into its own address."""
        return responses.live(self.request, template, visit=self, **values)

    def done(self, path: str, notice: str = "", *, undo: str = "") -> Response:
        """After a change: to the page at this path below /ui, which shows the notice. `undo`: the path of a form that
        takes the change back."""
        return responses.done(self.request, path, notice, undo=undo)


def root_of(request: Request) -> str:
    return str(request.scope.get("root_path", ""))


def services_of(request: Request) -> Services:
    """The services of the application that the pages are mounted on."""
    services: Services = request.app.state.host.state.services
    return services


async def _visit(request: Request) -> Visit:
    services = services_of(request)
    token = request.cookies.get(COOKIE, "")
    principal = await run_in_threadpool(web_sessions.principal_of, services, token)
    principal.require("read")
    if request.method not in SAFE:
        await _check_token(request, token)
    await _check_texts(request)
    return Visit(request, services, token, principal, await calls.recorder_of(request, services, principal))


async def _check_token(request: Request, session_token: str) -> None:
    given = request.headers.get(csrf.HEADER) or (await request.form()).get(csrf.FIELD)
    if not isinstance(given, str) or not csrf.is_valid(given, session_token):
        raise errors.Forbidden("This form is too old or came from another site. Load the page again")


async def _check_texts(request: Request) -> None:
    """Raises InvalidRequest for a value of the address or the form that no database can store."""
    form = [] if request.method in SAFE else (await request.form()).multi_items()
    for name, value in (*request.path_params.items(), *request.query_params.multi_items(), *form):
        if isinstance(value, str):
            check_text(value, name)


Visitor = Annotated[Visit, Depends(_visit)]


async def signed_in(request: Request) -> Visit | None:
    """Whose request failed, for the page that says so; None for a stranger, and while the database is unavailable."""
    services, token = services_of(request), request.cookies.get(COOKIE, "")
    try:
        principal = await run_in_threadpool(web_sessions.principal_of, services, token)
        principal.require("read")
    except errors.MemorybaseError:
        return None
    return Visit(request, services, token, principal)


async def redirect_to_sign_in(request: Request, _error: Exception) -> Response:
    """To the sign-in form, which then returns to the requested page."""
    address = f"{root_of(request)}/sign-in?next={quote(_shown_path(request), safe='')}"
    if "hx-request" in request.headers:
        return Response(headers={"HX-Redirect": address})
    return RedirectResponse(address, 303)


def _shown_path(request: Request) -> str:
    """The page that the visitor has open: not the address of one of its parts or forms."""
    if "hx-request" in request.headers or request.method not in SAFE:
        return f"{root_of(request)}/"
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")
