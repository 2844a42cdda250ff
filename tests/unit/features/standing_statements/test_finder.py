"""Which sentences are standing statements: made sentences with the answer beside each."""

from __future__ import annotations

from harness.rows import each_row
from hypothesis import given
from hypothesis import strategies as st

from memorybase.features.standing_statements.finder import MAX_CHARS, MAX_STATEMENTS, MAX_TEXT, find, is_conditional

INSTRUCTIONS = [
    "Always answer in metric units.",
    "From now on, answer in German.",
    "Use metric units from now on.",
    "Please don't use emojis in your answers.",
    "Whenever I ask for code, add type hints.",
    "You can use emojis again.",
    "Remember that I'm allergic to peanuts.",
    "my pronouns are they/them",
    "Call me Sam.",
]
PREFERENCES = [
    "I hate mushrooms.",
    "I never eat meat.",
    "My favourite color is blue.",
    "I don't want you to apologize.",
]
OF_THE_MOMENT = [
    "Please fix this function.",
    "Don't change the header.",
    "Please don't forget to add tests.",
    "I prefer the second option.",
    "I'd prefer this one.",
    "Make it shorter.",
    "Write a short answer to this email.",
    "Give me the answer in a table.",
    "Use tables here.",
    "Avoid the loop in this function.",
    "Explain it in simple terms.",
    "Write an email to my boss. Don't use the word urgent.",
    "Please answer in one word: is it safe?",
    "Add a test for this and make sure it never fails.",
    "I don't like this design.",
]
QUESTIONS = [
    "Why does it always fail?",
    "Should I always use tabs?",
    "Do you prefer tabs or spaces?",
    "Which one do you prefer?",
    "What is the preferred way to do this?",
    "So you always eat at noon?",
    "Can you write it in German?",
    "Remember the bug I mentioned?",
    "Do I never have to renew it?",
]
OTHERS = [
    "Never mind.",
    "Never heard of it.",
    "I never got an answer.",
    "It never works when I run it.",
    "I always forget the syntax for this.",
    "I never thought about that.",
    "I've never completed any problems involving medians before.",
    "I always wanted to see Rome.",
    "Call me later.",
    "I can't remember my password, call me when it is fixed.",
    "Users prefer light themes.",
    "The docs say to always close files.",
    "Always a pleasure!",
    "Always here to help.",
    "Never give up!",
    "If you prefer, we can talk tomorrow.",
    "No, that is wrong.",
    "no problem",
    "Without tests it fails, what should I do?",
    "From now on the meetings are on Monday.",
    "In the future we may add more servers.",
    "whenever I run the script, it crashes with an error",
    "Whenever I hear this song, I think about the paths I took.",
    "Feel free to reach out any time.",
    "Don't give up on your dreams!",
]
MATERIAL = [
    'He said "always use tabs" and left.',
    "Translate into German: Never give up on tests.",
    "Translate this into French:\n\nAlways use metric units.",
    "Here is the log:\nAlways retry\nnever use the cache",
    "Proofread the following text\nI prefer light frameworks. Never use emojis.",
    "```\n# never use tabs\nalways = 1\n```",
    "> Always answer in metric units.\nWhat do you think of that?",
    "def f():\n    # never do this\n    pass",
]


def found(text: str) -> list[tuple[str, str]]:
    return [(each.kind, each.text) for each in find(text)]


@each_row("text", INSTRUCTIONS)
def test_an_instruction_is_found_verbatim(text: str) -> None:
    assert found(text) == [("instruction", text)]


@each_row("text", PREFERENCES)
def test_a_preference_is_found_verbatim(text: str) -> None:
    assert found(text) == [("preference", text)]


@each_row("text", [*OF_THE_MOMENT, *QUESTIONS, *OTHERS, *MATERIAL])
def test_nothing_else_is_found(text: str) -> None:
    assert found(text) == []


@each_row(
    ("text", "statements"),
    [
        ("I'm vegetarian, so what can I cook tonight?", ["I'm vegetarian"]),
        ("I prefer dark themes; how do I switch the editor?", ["I prefer dark themes"]),
        ("We prefer PostgreSQL over MySQL, can you write the schema?", ["We prefer PostgreSQL over MySQL"]),
        ("I keep the app small, so I prefer few dependencies, how can I cache?", ["I prefer few dependencies"]),
        # A pronoun needs the clause before it.
        (
            "I use Bootstrap and I prefer it over Foundation, can you make a layout?",
            ["I use Bootstrap and I prefer it over Foundation"],
        ),
        ("Thanks! Always show the units. What is 3 m in feet?", ["Always show the units."]),
        ("Can you always answer in Spanish?", ["Can you always answer in Spanish"]),
        ("Could you please use British spelling from now on?", ["Could you please use British spelling from now on"]),
        ("My preferences:\n- Always use tabs\n- Never use semicolons", ["Always use tabs", "Never use semicolons"]),
        ("Never use emojis.\nNever use emojis.", ["Never use emojis."]),
        # A block of code has an end, after which the person speaks again.
        (
            "This is my code:\n```\nnever = 1\n```\nI prefer small functions, can you split it?",
            ["I prefer small functions"],
        ),
        ("Help me, considering my preference for visual learning.", ["my preference for visual learning."]),
        ("I\u2019d rather walk.", ["I'd rather walk."]),
    ],
)
def test_a_statement_is_taken_out_of_its_message(text: str, statements: list[str]) -> None:
    assert [said for _, said in found(text)] == statements


def test_a_message_has_a_bounded_number_of_bounded_statements() -> None:
    many = find("\n".join(f"Always use tool {number} for task {number}." for number in range(50)))
    long = find("Always use " + "very " * 150 + "long names.")
    assert len(many) == MAX_STATEMENTS
    assert [len(each.text) <= MAX_CHARS + 2 and each.text.endswith("\u2026") for each in long] == [True]


def test_of_a_long_message_only_both_ends_are_read() -> None:
    remark = "Always answer in metric units."
    material = "It was a cold day in the harbor.\n" * (MAX_TEXT // 20)
    assert [each.text for each in find(f"{remark}\n{material}")] == [remark]
    assert [each.text for each in find(f"{material}{remark}")] == [remark]
    assert find(f"{material}{remark}\n{material}") == []


def test_conditions_are_seen() -> None:
    assert is_conditional("Always include prices when I ask about hotels.")
    assert not is_conditional("Always include prices.")


@given(st.text(alphabet=st.sampled_from("always never prefer I'd\n\"'`.?!,:;-> pleasedon't\x00"), max_size=300))
def test_any_text_gives_statements_that_can_be_stored(text: str) -> None:
    for each in find(text):
        assert each.text.strip() == each.text != ""
        assert "\x00" not in each.text
