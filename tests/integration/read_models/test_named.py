"""What the command palette finds by name."""

from __future__ import annotations

from harness.world import World

from memorybase.core.memory_bases import deletion
from memorybase.core.read_models import titles
from memorybase.core.read_models.sessions import OF_EACH, find_named
from memorybase.core.sessions import edits


def found(world: World, text: str, user: object = None) -> list[tuple[str, str]]:
    return [(each.kind, each.name) for each in find_named(world.services, user or world.user_id, text)]  # type: ignore[arg-type]


def test_a_part_of_a_name_finds_flows_and_memory_bases(world: World) -> None:
    world.new_base(name="Harbour 100%")
    assert found(world, "LO") == [("flow", "flow")]
    assert found(world, "harb") == [("memory", "Harbour 100%")]
    assert found(world, "0%") == [("memory", "Harbour 100%")]
    assert found(world, "%") == [("memory", "Harbour 100%")]
    assert found(world, "_") == found(world, " ") == found(world, "") == []


def test_sessions_are_found_by_id_title_person_and_words_and_named_by_their_title(world: World) -> None:
    world.say("customer-7", {"role": "user", "content": "Which berth is free?"}, end_user_id="goran")
    world.say("customer-70", "Hello.")
    edits.update_session(world.services, world.user_id, world.flow_id, "customer-70", metadata={"title": "A sail"})
    asked, named = ("session", "Which berth is free?"), ("session", "A sail")
    assert found(world, "customer-7") == [asked, named]  # first that whose whole id it is
    assert found(world, "customer") == [named, asked]
    assert found(world, "berths") == [asked]
    assert found(world, "SAI") == [named]
    assert found(world, "goran") == [asked, ("person", "goran")]


def test_other_users_and_what_is_deleted_are_not_found(world: World) -> None:
    base = world.new_base(name="Harbour")
    world.say("customer-7", "Hello.", end_user_id="goran")
    stranger = world.new_user()
    assert [found(world, text, stranger) for text in ("flow", "Harb", "customer-7", "goran")] == [[], [], [], []]
    deletion.delete_memory_base(world.services, world.user_id, base)
    edits.delete_session(world.services, world.user_id, world.flow_id, "customer-7")
    assert [found(world, text) for text in ("Harb", "customer-7", "goran")] == [[], [], []]


def test_there_are_at_most_five_of_each_kind(world: World) -> None:
    for number in range(OF_EACH + 2):
        world.new_base(name=f"Harbour {number}")
    assert found(world, "harbour") == [("memory", f"Harbour {number}") for number in range(OF_EACH)]


def test_a_generated_id_is_no_name_and_sessions_have_the_time_of_their_newest_message(world: World) -> None:
    world.say("0b5f4c1e-7c0e-4a8b-9a55-1f5be6a9d8a1", {"role": "assistant", "content": "Hello from the harbour."})
    [hit] = find_named(world.services, world.user_id, "harbour")
    assert hit.written_at is not None
    assert hit.name == f"Untitled, of {hit.written_at:%-d %b %Y}"
    assert titles.title_of({}, world.flow_id, hit.id) == "Untitled session"
    for called in (titles.title_of, titles.known_as):
        assert called({}, world.flow_id, "customer-7") == "customer-7"
