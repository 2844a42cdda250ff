"""What routes declare about their operations fits together, and what they do not declare is the safe choice."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi.routing import APIRoute
from harness.contract import CONTRACT
from harness.operations import ALL, KEYED

from api.admission import Work
from api.contract.parts import operations
from api.deps import KeyedRoute, Reader, Writer, keyed_router
from api.key_limits import FLOW_IN_PATH, REFUSED
from api.operations import Policy, operation, policy_of
from api.web.views import routers as page_routers
from memorybase.core.calls import Effect

OPERATION_IDS = {each["operationId"] for each in operations(CONTRACT)}
# They answer a question in a body. What they store of it is no change of a caller's.
READS_OF_OTHER_METHODS = {
    "build_context",
    "get_history",
    "retrieve_knowledge",
    "search_facts",
    "search_flow",
    "search_knowledge_base",
    "search_memory_base",
    "view_chat",
}


def with_work(*works: Work) -> Iterator[KeyedRoute]:
    found = [route for route in KEYED.values() if route.work in works]
    assert found
    yield from found


def test_every_operation_but_health_requires_a_key_and_is_in_the_contract() -> None:
    assert {route.name for route in ALL} == OPERATION_IDS
    without = [route for route in ALL if route.name not in KEYED]
    assert {route.name for route in without} == {"health_live", "health_ready"}
    assert {policy_of(route.endpoint) for route in without} == {Policy()}, "nothing would apply a policy"


def test_an_operation_that_declares_nothing_refuses_limited_keys_and_is_a_change() -> None:
    router = keyed_router("nothing")

    @router.post("/changed")
    def changed(caller: Writer) -> None: ...

    @router.get("/read")
    def read(caller: Reader) -> None: ...

    @router.post("/asked")
    def asked(caller: Reader) -> None: ...

    found = [
        (route.policy.limits, route.scope, route.work, route.effect)
        for route in router.routes
        if isinstance(route, KeyedRoute)
    ]
    assert found == [
        (REFUSED, "write", Work.CHANGE, Effect.CHANGE),
        (REFUSED, "read", Work.READ, Effect.NOTHING),
        (REFUSED, "read", Work.READ, Effect.NOTHING),
    ]
    assert (REFUSED.flows, REFUSED.end_user) == (None, None)


def test_what_an_operation_declares_is_on_its_route() -> None:
    router = keyed_router("declared")

    @router.post("/captured")
    @operation(limits=FLOW_IN_PATH, work=Work.CAPTURE, once=True)
    def captured(caller: Writer) -> None: ...

    (route,) = router.routes
    assert isinstance(route, KeyedRoute)
    assert route.policy == Policy(limits=FLOW_IN_PATH, work=Work.CAPTURE, once=True)
    assert (route.work, route.effect) == (Work.CAPTURE, Effect.CAPTURE)


def test_every_operation_with_another_method_than_get_is_a_change_or_listed() -> None:
    others = {name for name, route in KEYED.items() if "GET" not in route.methods}
    unchanging = {name for name in others if effect_of(name) not in {Effect.CHANGE, Effect.CAPTURE}}
    assert unchanging == READS_OF_OTHER_METHODS
    assert {KEYED[name].scope for name in READS_OF_OTHER_METHODS} == {"read"}
    assert "read" not in {KEYED[name].scope for name in others - unchanging}
    assert {effect_of(name) for name in KEYED.keys() - others} == {Effect.NOTHING, Effect.READ}


def effect_of(name: str) -> Effect:
    return KEYED[name].effect


def test_the_class_of_work_fits_what_an_operation_does() -> None:
    assert all(route.only_reads for route in with_work(Work.READ, Work.SEARCH, Work.COMPARE))
    assert not any(route.only_reads for route in with_work(Work.CHANGE, Work.BULK, Work.CAPTURE))
    assert not any(route.work is Work.KEY for route in KEYED.values())


def test_what_is_declared_has_an_effect() -> None:
    for name, route in KEYED.items():
        policy = route.policy
        assert policy.once or policy.left_out is None, f"{name}: only stored answers leave a field out"
        assert not policy.once or route.scope in {"write", "admin"}, f"{name}: a repetition needs its scope too"
        assert not policy.without_effect or route.effect is Effect.CHANGE, (
            f"{name}: no other entry names the body's ids"
        )
        assert policy.location or route.status_code == 201, f"{name}: only a 201 has a Location"


def test_what_views_declare_has_an_effect() -> None:
    views = [route for router in page_routers() for route in router.routes if isinstance(route, APIRoute)]
    for route in views:
        declared = vars(route.endpoint)
        assert "without_content" not in declared or route.methods == {"GET"}, f"{route.path}: a form is always recorded"
        assert "recorded_as" not in declared or route.methods == {"POST"}, f"{route.path}: a page changes nothing"
    names = {name for route in views if (name := vars(route.endpoint).get("recorded_as"))}
    assert len(names) > 5
    assert {effect_of(name) for name in names} == {Effect.CHANGE}
