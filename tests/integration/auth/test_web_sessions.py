"""Signing in to the web page: links for one use, sessions that end with their key."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier
from typing import NamedTuple

import pytest
import sqlalchemy as sa
from harness.api import Api, open_api
from harness.world import World

from memorybase import errors
from memorybase.auth import api_keys, web_sessions
from memorybase.auth.api_keys import Principal
from memorybase.auth.web_sessions import Ticket
from memorybase.models import ApiKey, WebTicket
from memorybase.settings import Settings
from memorybase.stack.children import Plan
from memorybase.stack.run import _offer_sign_in
from memorybase.stack.state import DataDir, RunningStack, free_port

HOUR = 3_600.0


class Key(NamedTuple):
    secret: str
    principal: Principal


@pytest.fixture
def world(databases: World) -> World:
    """One for all of these tests: each has a key of its own."""
    return databases


@pytest.fixture
def key(world: World) -> Key:
    """A key that may read, and no more."""
    _, secret = api_keys.create_key(world.services, world.user_id, name="key", scopes=["read"])
    return Key(secret, api_keys.authenticate(world.services, secret))


def kept(world: World, key: Key) -> dict[bytes, str]:
    """What is stored in this key's name."""
    mine = sa.select(WebTicket).where(WebTicket.key_id == key.principal.key_id)
    with world.services.database.reading() as db:
        return {ticket.token_hash: ticket.kind for ticket in db.scalars(mine)}


def signed_in(world: World, ticket: Ticket) -> bool:
    try:
        web_sessions.principal_of(world.services, ticket.token)
    except errors.Unauthorized:
        return False
    return True


class TestSessions:
    def test_a_session_acts_as_its_key(self, world: World, key: Key) -> None:
        ticket = web_sessions.open_session(world.services, key.secret)
        assert web_sessions.principal_of(world.services, ticket.token) == key.principal

    def test_a_wrong_key_opens_none(self, world: World) -> None:
        with pytest.raises(errors.Unauthorized):
            web_sessions.open_session(world.services, "mb_wrong")

    def test_it_lasts_as_long_as_the_setting_says(self, world: World, key: Key) -> None:
        ticket = web_sessions.open_session(world.services, key.secret)
        assert abs(ticket.expires_at - datetime.now(UTC) - timedelta(hours=168)) < timedelta(minutes=1)
        world.pass_time(167 * HOUR)
        assert signed_in(world, ticket)
        world.pass_time(2 * HOUR)
        assert not signed_in(world, ticket)

    @pytest.mark.parametrize("column", ["revoked_at", "expires_at"])
    def test_it_ends_with_its_key(self, world: World, key: Key, column: str) -> None:
        ticket = web_sessions.open_session(world.services, key.secret)
        link = web_sessions.make_link(world.services, key.principal)
        assert signed_in(world, ticket)
        with world.services.database.transaction() as db:
            mine = sa.update(ApiKey).where(ApiKey.id == key.principal.key_id)
            db.execute(mine.values({column: datetime.now(UTC)}))
        assert not signed_in(world, ticket)
        with pytest.raises(errors.Unauthorized):
            web_sessions.enter(world.services, link.token)

    def test_closed_it_is_over_and_others_are_not(self, world: World, key: Key) -> None:
        closed, other = (web_sessions.open_session(world.services, key.secret) for _ in range(2))
        for _ in range(2):
            web_sessions.close(world.services, closed.token)
        web_sessions.close(world.services, "unknown")
        assert not signed_in(world, closed)
        assert signed_in(world, other)

    def test_a_look_at_it_is_one_query_and_no_write(self, world: World, key: Key) -> None:
        ticket = web_sessions.open_session(world.services, key.secret)
        sent: list[str] = []

        def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
            sent.append(statement.split(maxsplit=1)[0])

        engine = world.services.database.engine
        sa.event.listen(engine, "before_cursor_execute", note)
        web_sessions.principal_of(world.services, ticket.token)
        sa.event.remove(engine, "before_cursor_execute", note)
        assert [word for word in sent if word not in {"BEGIN", "SET"}] == ["SELECT"]


class TestLinks:
    def test_a_link_opens_one_session_and_is_refused_when_used_again(self, world: World, key: Key) -> None:
        link = web_sessions.make_link(world.services, key.principal)
        ticket = web_sessions.enter(world.services, link.token)
        assert web_sessions.principal_of(world.services, ticket.token) == key.principal
        with pytest.raises(errors.Unauthorized, match=r"^This link was used or has expired\. "):
            web_sessions.enter(world.services, link.token)
        assert kept(world, key) == {api_keys.hash_of(ticket.token): "session"}

    @pytest.mark.both_databases
    def test_of_many_who_come_with_it_at_once_one_gets_in(self, world: World, key: Key) -> None:
        link = web_sessions.make_link(world.services, key.principal)
        together = Barrier(6)

        def come(_: int) -> bool:
            together.wait()
            try:
                web_sessions.enter(world.services, link.token)
            except errors.Unauthorized:
                return False
            return True

        with ThreadPoolExecutor(6) as pool:
            assert sorted(pool.map(come, range(6))) == [False] * 5 + [True]

    def test_after_an_hour_it_is_too_old(self, world: World, key: Key) -> None:
        link = web_sessions.make_link(world.services, key.principal)
        world.pass_time(HOUR)
        with pytest.raises(errors.Unauthorized):
            web_sessions.enter(world.services, link.token)

    def test_a_link_is_no_session_and_a_session_no_link(self, world: World, key: Key) -> None:
        link = web_sessions.make_link(world.services, key.principal)
        ticket = web_sessions.open_session(world.services, key.secret)
        assert not signed_in(world, link)
        with pytest.raises(errors.Unauthorized):
            web_sessions.enter(world.services, ticket.token)
        web_sessions.close(world.services, link.token)
        assert signed_in(world, web_sessions.enter(world.services, link.token))

    def test_a_token_shows_itself_nowhere(self, world: World, key: Key) -> None:
        link = web_sessions.make_link(world.services, key.principal)
        assert link.token not in repr(link)
        assert kept(world, key) == {api_keys.hash_of(link.token): "link"}


def test_the_sweeper_forgets_what_is_over(world: World, key: Key) -> None:
    web_sessions.make_link(world.services, key.principal)
    ticket = web_sessions.open_session(world.services, key.secret)
    world.sweep()
    assert sorted(kept(world, key).values()) == ["link", "session"]
    world.pass_time(HOUR)
    assert world.sweep().tickets_forgotten >= 1
    assert kept(world, key) == {api_keys.hash_of(ticket.token): "session"}
    assert world.sweep().tickets_forgotten == 0


class TestTheCall:
    def test_any_key_makes_a_link_that_opens_what_the_key_does(self, api: Api) -> None:
        made = api.of_user("local", "read").post("/sign-in-links", expect=201)
        path, _, token = made["url_path"].partition("?token=")
        assert path == "/ui/enter"
        lasts = datetime.fromisoformat(made["expires_at"]) - datetime.now(UTC)
        assert timedelta(minutes=59) < lasts <= timedelta(hours=1)
        ticket = web_sessions.enter(api.services, token)
        assert web_sessions.principal_of(api.services, ticket.token).scopes == {"read"}

    def test_without_the_page_there_are_no_links(self, api_settings: Settings) -> None:
        with open_api(api_settings.model_copy(update={"web": False})) as api:
            assert "MEMORYBASE_WEB" in api.refused("POST", "/sign-in-links", 404)["message"]


class TestTheStack:
    """What `memorybase up` says when it is ready; that it prints a link is for the tests of the whole stack."""

    @pytest.mark.parametrize(
        ("web", "said"),
        [(True, "note: there is no link to sign in: Nothing answers at "), (False, None)],
        ids=["served", "off"],
    )
    def test_where_no_link_can_be_had_a_note_is_all(self, tmp_path: Path, said: str | None, *, web: bool) -> None:
        settings = Settings(data_dir=tmp_path, api_key="schlüssel-🔑", web=web)
        url = f"http://127.0.0.1:{free_port()}"
        plan = Plan(
            settings=settings, data=DataDir(tmp_path), children=(), environment={}, host="127.0.0.1", port=0,
            stack=RunningStack(0, url, "", ""), key_in_file=False,
        )  # fmt: skip
        lines: list[str] = []
        asyncio.run(_offer_sign_in(plan, lines.append))
        assert [line.startswith(said or "") for line in lines] == ([True] if said else [])
