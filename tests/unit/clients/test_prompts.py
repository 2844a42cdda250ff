"""Ids of messages that are seen in prompts."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from memorybase_client.prompts import identified, run_id_of

Json = dict[str, Any]


def say(role: str, content: Any, **more: Any) -> Json:
    return {"role": role, "content": content, **more}


def ids(*prompt: Json, answer: Json | None = None, session: str = "s") -> list[str]:
    return [each["id"] for each in identified(session, prompt, [] if answer is None else [answer])]


def test_an_answer_has_the_same_id_in_the_next_prompt_whatever_fields_it_has() -> None:
    answer = say("assistant", "Berth 12.", refusal=None, annotations=[], audio=None)
    _, first = ids(say("user", "Where?"), answer=answer)
    second, _ = ids(say("user", "Where?"), say("assistant", "Berth 12. "), say("user", "Thanks."))
    assert first == second


def test_text_has_the_same_id_as_one_string_and_in_parts() -> None:
    parts = [{"type": "input_text", "text": "Ber"}, {"type": "input_text", "text": "th 12."}]
    assert ids(say("user", parts)) == ids(say("user", "Berth 12."))


def test_sessions_roles_and_words_have_ids_of_their_own() -> None:
    found = [ids(say("user", "a")), ids(say("tool", "a")), ids(say("user", "b")), ids(say("user", "a"), session="t")]
    assert len({each for (each,) in found}) == 4


def test_system_and_empty_messages_are_left_out() -> None:
    prompt = [say("system", "x"), say("developer", "y"), say("user", ""), say("user", "a"), {"role": "user"}, "text"]
    assert [each["content"] for each in identified("s", prompt)] == ["a"]


def test_a_refusal_is_text_and_reasoning_is_metadata() -> None:
    prompt = [say("user", "a"), say("assistant", None, refusal="I can't."), say("user", "b")]
    refused, _, thought = identified("s", prompt, [say("assistant", "c", reasoning_content="Hm.")])
    assert (refused["content"], "metadata" in refused) == ("I can't.", False)
    assert (thought["content"], thought["metadata"]) == ("c", {"reasoning_content": "Hm."})


def test_every_call_of_a_turn_is_of_one_run() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "tide", "arguments": "{}"}}
    earlier = [say("user", "Hello."), say("assistant", "Yes?")]
    steps = [say("assistant", None, tool_calls=[call]), say("tool", "low", tool_call_id="c"), say("assistant", "Low.")]
    for before in ([], earlier):
        asked = [*before, say("user", "And the tide?")]
        first, second = (identified("s", [*asked, *steps[:done]], [steps[done]]) for done in (0, 2))
        assert run_id_of(first) == run_id_of(second)
    then = identified("s", [*asked, *steps, say("user", "And the tide?")], [say("assistant", "Still low.")])
    assert run_id_of(then) != run_id_of(second)


# A few words, so that many are said twice.
TURNS = st.tuples(st.sampled_from(["yes", "no", "more"]), st.sampled_from(["a?", "b?", "c?"]))


@given(turns=st.lists(TURNS, max_size=8))
def test_whole_prompts_of_a_conversation_store_each_message_once(turns: list[tuple[str, str]]) -> None:
    stored: dict[str, Json] = {}
    prompt: list[Json] = []
    for question, answer in turns:
        prompt.append(say("user", question))
        for message in identified("s", prompt, [say("assistant", answer)]):
            stored.setdefault(message["id"], message)
        prompt.append(say("assistant", answer))
    assert [each["content"] for each in stored.values()] == [text for turn in turns for text in turn]


@given(count=st.integers(1, 12), window=st.integers(1, 9))
def test_shortened_prompts_store_each_message_once(count: int, window: int) -> None:
    """Also if nothing but the question is left of them, or they begin with an answer."""
    stored: dict[str, Json] = {}
    prompt: list[Json] = []
    for number in range(count):
        prompt.append(say("user", "yes"))
        for message in identified("s", prompt[-window:], [say("assistant", f"answer {number}")]):
            stored.setdefault(message["id"], message)
        prompt.append(say("assistant", f"answer {number}"))
    assert [each["content"] for each in stored.values()] == [each["content"] for each in prompt]
