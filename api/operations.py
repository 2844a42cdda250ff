"""What holds for an operation besides its request and its answer. It is declared on the operation's route alone:

    @router.post("/keys", status_code=201)
    @operation(once=True, left_out="secret")
    def create_key(...) -> NewKey:

`api.deps.KeyedRoute` applies it and adds what follows from the route: the scope, and with it whether a call only reads.
The OpenAPI document describes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import APIRouter
from fastapi.routing import APIRoute

from api.admission import Work
from api.key_limits import REFUSED, Rule
from memorybase.core.calls import Effect

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The defaults are those of an operation that declares nothing."""

    limits: Rule = REFUSED  # what limited keys may name; without a rule they are refused
    work: Work | None = None  # its class of work; None: READ if it only reads, else CHANGE
    effect: Effect | None = None  # what a record of calls has of it; None: nothing if it only reads, else by its work
    without_effect: frozenset[str] = frozenset()  # fields of the body that name objects and change nothing
    once: bool = False  # it takes an Idempotency-Key; docs/reference/api.md says what a repetition does
    # A field of the answer that is stored nowhere else in clear, or whose text a deletion must find. An answer is kept
    # without it, and the route completes or refuses a repetition.
    left_out: str | None = None
    location: bool = True  # a 201 has one
    not_found: bool = True  # 404 if what the request names does not exist

    def __call__(self, endpoint: Endpoint) -> Endpoint:
        """Declare it on the function of a route, below the router's decorator."""
        vars(endpoint)["policy"] = self
        return endpoint


operation = Policy  # as a decorator
_DEFAULTS = Policy()


def policy_of(endpoint: Callable[..., Any]) -> Policy:
    found: Policy = vars(endpoint).get("policy", _DEFAULTS)
    return found


def policies(routers: Iterable[APIRouter]) -> dict[str, Policy]:
    """By operation id."""
    routes = (route for router in routers for route in router.routes if isinstance(route, APIRoute))
    return {route.name: policy_of(route.endpoint) for route in routes}
