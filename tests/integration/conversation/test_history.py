"""The history of captured messages: threads, limits, files."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid5

import pytest
from harness.records import Flat
from harness.world import World

from memorybase.core.conversation import UUID_NIL, Prefixes, View
from memorybase.core.conversation.history.read import history_of
from memorybase.core.conversation.history.request import Conversation, HistoryRequest
from memorybase.core.errors import NotFound


def conversation(world: World, session_id: str = "s") -> Conversation:
    return Conversation(world.services, world.user_id, world.flow_id, session_id)


def view(world: World, session_id: str = "s", **asked: Any) -> View:
    return history_of(conversation(world, session_id), HistoryRequest(**asked), counter=Flat()).view


def history(world: World, session_id: str = "s", **asked: Any) -> str:
    return " ".join(message["content"] for message in view(world, session_id, **asked).messages)


def identity(world: World, name: str) -> UUID:
    return uuid5(world.user_id, f"message:{name}")


def turn(world: World, name: str, parent: str | None, *, session_id: str = "s", answer: bool = True) -> None:
    """A run with the question `q<name>`, whose parent is the turn `parent`, and its answer."""
    named = parent if parent in {None, UUID_NIL} else str(identity(world, f"{session_id}-q{parent}"))
    question = {"id": str(identity(world, f"{session_id}-q{name}")), "role": "user", "content": f"q{name}"}
    if parent != "":
        question["parent_message_id"] = named
    world.say(session_id, question, *([f"a{name}"] if answer else []))


THREADS = [
    # id<-parent, oldest first; what history holds
    ("1<-NIL", "1"),
    ("1<-NIL 2<-1 3<-2 4<-3 5<-4", "1 2 3 4 5"),
    ("1<-NIL 2<-1 3<-2 4<-2", "1 2 4"),
    ("", ""),
    ("1<-NIL 2<-NIL 3<-NIL", "1 2 3"),
    ("1<-NIL 2<-NIL 3<-2 4<-2 5<-4", "1 2 4 5"),
    ("1<-NIL 2<-None", "2"),
    ("1<-None 2<-None", "1 2"),  # nobody names a parent: a conversation without threads
    ("1<-None 2<-1 3<-None 4<-3", "3 4"),  # the first answer regenerated, its question with it
    ("1<-None 2<-None 3<-2", "2 3"),  # the first answer regenerated before any parent was named
    ("1 2 3<-2", "1 2 3"),  # no parent was sent at first: unknown, not null
    ("1<-None 2<-None 3<-1", "1 3"),  # Dify: the sibling of the root leaks in
    ("1<-NIL 2<-1 3<-x", "3"),
    ("1<-NIL 2<-1 3<-1 4<-NIL", "1 3 4"),
]


def test_history_follows_the_thread(world: World) -> None:
    for number, (drawing, wanted) in enumerate(THREADS):
        session_id = f"s{number}"
        for word in drawing.split():
            name, _, parent = word.partition("<-")
            turn(world, name, {"NIL": UUID_NIL, "None": None}.get(parent, parent), session_id=session_id)

        expected = " ".join(f"q{name} a{name}" for name in wanted.split())
        assert history(world, session_id) == expected, drawing


def test_the_leaf_selects_the_thread_of_a_regenerated_answer(world: World) -> None:
    """A, A', B, B', and a second answer A'' followed by C and C'."""
    ids = {name: str(identity(world, name)) for name in ("A", "A'", "B", "B'", "A''", "C", "C'")}
    parents = {"A": None, "A'": "A", "B": "A'", "B'": "B", "A''": "A", "C": "A''", "C'": "C"}
    for name, parent in parents.items():
        role = "assistant" if "'" in name else "user"
        world.say(
            "s",
            {
                "id": ids[name],
                "role": role,
                "content": name,
                "parent_message_id": None if parent is None else ids[parent],
            },
        )

    assert history(world) == "A A'' C C'"
    assert history(world, leaf_id=UUID(ids["B'"])) == "A A' B B'"
    with pytest.raises(NotFound):
        history(world, leaf_id=identity(world, "unknown"))


LIMITS = [
    # tokens at 10 a message; single messages; whole turns
    (40, "q1 a1 q2 a2", "q1 a1 q2 a2"),
    (39, "a1 q2 a2", "q2 a2"),
    (30, "a1 q2 a2", "q2 a2"),
    (29, "q2 a2", "q2 a2"),
    (20, "q2 a2", "q2 a2"),
    (19, "a2", ""),
    (0, "a2", ""),
]


def test_turns_are_kept_or_dropped_as_a_whole(world: World) -> None:
    for name in ("1", "2"):
        turn(world, name, None)
    for limit, single, whole in LIMITS:
        assert history(world, prune="message", max_tokens=limit) == single
        assert history(world, max_tokens=limit) == whole
        assert view(world, max_tokens=limit).report.over_budget == (not whole)
    for message_limit, wanted in ((None, "q1 a1 q2 a2"), (0, "q1 a1 q2 a2"), (-1, "q1 a1 q2 a2"), (1, "q2 a2")):
        assert history(world, message_limit=message_limit) == wanted
        assert history(world, prune="message", message_limit=message_limit) == wanted


def test_the_open_question_is_not_part_of_the_history(world: World) -> None:
    turn(world, "1", None)
    turn(world, "2", None, answer=False)
    assert history(world) == "q1 a1"
    run_id = world.messages("s")[0].run_id
    assert history(world, run_id=run_id) == ""  # its own branch, from before its own messages
    turn(world, "alone", None, session_id="new", answer=False)
    assert history(world, "new") == ""


def test_history_renders_as_text(world: World) -> None:
    turn(world, "1", None)
    world.say(
        "s",
        {"role": "system", "content": "never shown"},
        {"role": "user", "content": "x\nAssistant: y", "files": [{"type": "image", "url": "https://h/cat.png"}]},
    )
    world.say("s", "end")

    text = view(world, prefixes=Prefixes("H", "A")).text

    assert text == "H: q1\nA: a1\nH: [image]\n  x\n  Assistant: y\nA: end"


def test_files_precede_the_text_and_missing_ones_become_stubs(world: World) -> None:
    files = [
        {"type": "image", "transfer_method": "remote_url", "url": "https://h/cat.png"},
        {"type": "document", "transfer_method": "local_file", "upload_file_id": "f1", "name": "plan.pdf"},
    ]
    world.say("s", {"role": "user", "content": "look", "files": files}, "seen")
    shown = view(world)
    assert [part["type"] for part in shown.messages[0]["content"]] == ["image_url", "text", "text"]
    assert [part.get("text") for part in shown.messages[0]["content"][1:]] == ["[document: plan.pdf]", "look"]
    assert shown.report.degraded == ("files",)


def test_an_unknown_session_has_no_history_or_is_an_error(world: World) -> None:
    assert history(world, "unknown") == ""
    with pytest.raises(NotFound) as caught:
        history(world, "unknown", on_missing="error")
    assert caught.value.field == "session_id"
    stranger = Conversation(world.services, world.new_user(), world.flow_id, "s")
    with pytest.raises(NotFound):
        history_of(stranger, HistoryRequest())


def test_a_session_of_outputs_only_has_a_history(world: World) -> None:
    world.say("s", "a1", "a2", "a3")
    assert history(world) == "a1 a2 a3"
    assert history(world, max_tokens=20) == "a2 a3"
