"""Sign-in to the web page: links that work once, and sessions that end with their key."""

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
from harness.statements import recorded
from harness.world import World

from memorybase.core import errors
from memorybase.core.auth import api_keys, web_sessions
from memorybase.core.auth.api_keys import Principal
from memorybase.core.auth.web_sessions import Ticket
from memorybase.core.models import ApiKey, WebTicket
from memorybase.core.settings import Settings
from memorybase.stack.announce import local_of, offer_sign_in
from memorybase.stack.state import DataDir, free_port

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
    """A key with the scope read only."""
    _, secret = api_keys.create_key(world.services, world.user_id, name="key", scopes=["read"])
    return Key(secret, api_keys.authenticate(world.services, secret))


def kept(world: World, key: Key) -> dict[bytes, str]:
    """The stored tickets of this key."""
    mine = sa.select(WebTicket).where(WebTicket.key_id == key.principal.key_id)
    return {ticket.token_hash: ticket.kind for ticket in world.scalars(mine)}


def signed_in(world: World, ticket: Ticket) -> bool:
    try:
        web_sessions.principal_of(world.services, ticket.token)
    except errors.Unauthorized:
        return False
    return True


class TestSessions:
    def test_a_session_has_the_principal_of_its_key(self, world: World, key: Key) -> None:
        ticket = web_sessions.open_session(world.services, key.secret)
        assert web_sessions.principal_of(world.services, ticket.token) == key.principal

    def test_an_invalid_key_opens_no_session(self, world: World) -> None:
        with pytest.raises(errors.Unauthorized):
            web_sessions.open_session(world.services, "mb_wrong")

    def test_a_session_expires_after_a_week(self, world: World, key: Key) -> None:
        ticket = web_sessions.open_session(world.services, key.secret)
        assert abs(ticket.expires_at - datetime.now(UTC) - timedelta(hours=168)) < timedelta(minutes=1)
        world.pass_time(167 * HOUR)
        assert signed_in(world, ticket)
        world.pass_time(2 * HOUR)
        assert not signed_in(world, ticket)

    @pytest.mark.parametrize("column", ["revoked_at", "expires_at"])
    def test_a_session_ends_with_its_key(self, world: World, key: Key, column: str) -> None:
        ticket = web_sessions.open_session(world.services, key.secret)
        link = web_sessions.make_link(world.services, key.principal)
        assert signed_in(world, ticket)
        with world.services.database.transaction() as db:
            mine = sa.update(ApiKey).where(ApiKey.id == key.principal.key_id)
            db.execute(mine.values({column: datetime.now(UTC)}))
        assert not signed_in(world, ticket)
        with pytest.raises(errors.Unauthorized):
            web_sessions.enter(world.services, link.token)

    def test_signing_out_closes_only_that_session(self, world: World, key: Key) -> None:
        closed, other = (web_sessions.open_session(world.services, key.secret) for _ in range(2))
        for _ in range(2):
            web_sessions.close(world.services, closed.token)
        web_sessions.close(world.services, "unknown")
        assert not signed_in(world, closed)
        assert signed_in(world, other)

    def test_a_session_check_is_one_query_without_a_write(self, world: World, key: Key) -> None:
        ticket = web_sessions.open_session(world.services, key.secret)
        with recorded(world.services.database.engine) as sent:
            web_sessions.principal_of(world.services, ticket.token)
        words = [statement.split(maxsplit=1)[0] for statement, _ in sent]
        assert [word for word in words if word not in {"BEGIN", "SET"}] == ["SELECT"]


class TestLinks:
    def test_a_link_opens_one_session_and_is_refused_when_used_again(self, world: World, key: Key) -> None:
        link = web_sessions.make_link(world.services, key.principal)
        ticket = web_sessions.enter(world.services, link.token)
        assert web_sessions.principal_of(world.services, ticket.token) == key.principal
        with pytest.raises(errors.Unauthorized, match=r"^This link was used or has expired\. "):
            web_sessions.enter(world.services, link.token)
        assert kept(world, key) == {api_keys.hash_of(ticket.token): "session"}

    @pytest.mark.both_databases
    def test_of_concurrent_uses_of_a_link_one_succeeds(self, world: World, key: Key) -> None:
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

    def test_a_link_expires_after_an_hour(self, world: World, key: Key) -> None:
        link = web_sessions.make_link(world.services, key.principal)
        world.pass_time(HOUR)
        with pytest.raises(errors.Unauthorized):
            web_sessions.enter(world.services, link.token)

    def test_link_tokens_and_session_tokens_are_not_interchangeable(self, world: World, key: Key) -> None:
        link = web_sessions.make_link(world.services, key.principal)
        ticket = web_sessions.open_session(world.services, key.secret)
        assert not signed_in(world, link)
        with pytest.raises(errors.Unauthorized):
            web_sessions.enter(world.services, ticket.token)
        web_sessions.close(world.services, link.token)
        assert signed_in(world, web_sessions.enter(world.services, link.token))

    def test_a_token_is_neither_in_its_repr_nor_stored(self, world: World, key: Key) -> None:
        link = web_sessions.make_link(world.services, key.principal)
        assert link.token not in repr(link)
        assert kept(world, key) == {api_keys.hash_of(link.token): "link"}


def test_the_sweeper_deletes_expired_tickets(world: World, key: Key) -> None:
    web_sessions.make_link(world.services, key.principal)
    ticket = web_sessions.open_session(world.services, key.secret)
    world.sweep()
    assert sorted(kept(world, key).values()) == ["link", "session"]
    world.pass_time(HOUR)
    assert world.sweep().done["tickets_forgotten"] >= 1
    assert kept(world, key) == {api_keys.hash_of(ticket.token): "session"}
    assert world.sweep().done["tickets_forgotten"] == 0


class TestTheCall:
    def test_any_key_creates_a_link_with_its_own_scopes(self, api: Api) -> None:
        made = api.of_user("local", "read").post("/sign-in-links", expect=201)
        path, _, token = made["url_path"].partition("?token=")
        assert path == "/ui/enter"
        lasts = datetime.fromisoformat(made["expires_at"]) - datetime.now(UTC)
        assert timedelta(minutes=59) < lasts <= timedelta(hours=1)
        ticket = web_sessions.enter(api.services, token)
        assert web_sessions.principal_of(api.services, ticket.token).scopes == {"read"}

    def test_links_are_404_while_the_web_page_is_off(self, api_settings: Settings) -> None:
        with open_api(api_settings.model_copy(update={"web": False})) as api:
            assert "MEMORYBASE_WEB" in api.refused("POST", "/sign-in-links", 404)["message"]


class TestTheStack:
    """What `memorybase up` says when it is ready; that it prints a link is for the tests of the whole stack."""

    @pytest.mark.parametrize(
        ("web", "note"),
        [(True, "note: no sign-in link could be created: No answer from "), (False, None)],
        ids=["served", "off"],
    )
    def test_without_a_sign_in_link_a_note_is_printed(self, tmp_path: Path, note: str | None, *, web: bool) -> None:
        settings = Settings(data_dir=tmp_path, api_key="schlüssel-🔑", web=web)
        url = f"http://127.0.0.1:{free_port()}"
        lines: list[str] = []
        asyncio.run(offer_sign_in(local_of(url, DataDir(tmp_path), settings), settings, lines.append))
        assert [line.startswith(note or "") for line in lines] == ([True] if note else [])
