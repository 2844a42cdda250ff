"""A user who asks briefly, states facts in passing and later changes some, and an assistant that answers at length."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

from made.drawing import Clock, Draw, capitalized
from made.files import MadeConversation, Message, Question
from made.topics import Fact, Topic, all_topics

KIND = "assistant with long answers"
ANSWER_CHARS = (1_050, 4_000)
REQUEST_CHARS = (60, 300)

# Where the user's fact stands in a request: {goal} is what they want, {fact} what they say in passing.
_REQUESTS = (
    "Can you help me {goal}? {Fact}, in case that matters, and I have about an hour each evening.",
    "{Fact}. Now I would like to {goal}, and I don't know where to begin. What are the steps?",
    "I need to {goal}. I should add that {fact}, so please keep your answer practical.",
    "So, {topic} again. {Fact}, and the next thing is to {goal}. How would you go about it?",
    "What is a sensible way to {goal}? You may want to know that {fact}.",
    "Since {fact}, everyone gives me different advice. What I really want is to {goal}. Could you write me a plan?",
    "Please explain to a beginner how to {goal}; {fact}, if that is any help to you.",
    "Quick one before work: {fact}. Does that change anything if I want to {goal}?",
    "I was talking about {topic} with a friend and mentioned that {fact}. She asked how I intend to {goal}. Well?",
    "Could you make a checklist so that I can {goal}? Just so you have the picture: {fact}.",
    "My plan for the month is to {goal}. {Fact}, which is more than I expected when I started.",
    "How do other people {goal}? I ask because {fact} and I feel that I am doing too much by hand.",
)
_UPDATES = (
    "A correction to what I told you earlier: {fact} now. With that in mind, how do I {goal}?",
    "Things have changed since we last spoke, {fact} these days. Can we go over how to {goal} once more?",
    "I have to revise something: by now {fact}. Does your advice on how to {goal} still hold?",
    "News about {topic}: {fact} after all, not what I said before. Could you help me {goal} under these conditions?",
)
_OPENINGS = (
    "That is a good thing to ask early, because {topic} punishes haste more than anything else.",
    "Here is how I would approach it, step by step, with {topic} in mind.",
    "Happy to help with {topic}. Let me start with the overview and then go into detail.",
    "Thanks for the background. The short answer is that the {a} decides most of it; the long answer follows.",
    "There are several ways to do this, and which one is right depends on your {a} and on your {b}.",
    "You are closer than you think: once the {a} is in order, the rest of the work goes quickly.",
)
_STEPS = (
    "Look at the {a} first, since a {quality} {a} spoils everything that comes after it.",
    "Write down the state of the {a} and of the {b}, with today's date, before you {do} anything.",
    "{Do} the {a} slowly, and only when the {b} is out of the way.",
    "Check whether the {a} is {quality}; if it is, {do} it before you touch the {b}.",
    "Set aside half an hour to {do} the {a}, and another half hour to {do2} the {b}.",
    "Compare the {a} with the {b}: if one of them looks {quality}, that is where you start.",
    "Ask somebody to hold the {b} while you {do} the {a}.",
    "Only now {do} the {a}; earlier it would have been in the way of the {b}.",
    "Wait a day, then {do2} the {a} again and see whether it has stayed as you left it.",
    "Put the {a} back, {do} what is left of the {b}, and tidy up before dark.",
    "Repeat with the next {a}, but {do2} it a little less than the first.",
    "Finish by going over the {b}, because a {quality} {b} is what people notice.",
)
_PITFALLS = (
    "**A {quality} {a}.** It looks harmless at first, and then the {b} suffers for weeks.",
    "**Too much at once.** Whoever tries to {do} and {do2} on the same day does neither well.",
    "**Forgetting the {a}.** Nearly everybody does, because the {b} takes all the attention.",
    "**The wrong order.** If you {do} the {a} after the {b}, you will have to begin again.",
    "**Cheap replacements.** A {quality} {a} costs less in the shop and more by the end of the year.",
    "**No notes.** Without a record of the {a} you cannot tell whether it helped to {do} it.",
    "**Trusting the {b}.** It may be {quality} on the inside although the {a} looks fine.",
    "**Impatience.** The {a} needs time to settle before anyone should {do} it a second time.",
)
_EXPLANATIONS = (
    "The reason is simple: the {a} and the {b} work against each other as soon as one of them is {quality}.",
    "Many guides tell you to {do} the {a} every week, but in practice that is only needed when it is {quality}.",
    "Think of the {a} as the part that carries the load, and of the {b} as the part that gives way.",
    "A {quality} {a} is not a fault in itself; it becomes one if you {do} it without looking at the {b}.",
    "Experienced people rarely {do} the {a} at all, because they {do2} the {b} in good time.",
    "If you have to choose, spend your effort on the {a}, since a better {b} seldom makes up for a {quality} {a}.",
    "What you can see of the {a} tells you little; what it does when you {do} it tells you nearly everything.",
    "With {topic} it also helps to keep the {b} apart from the {a}, so that a {quality} one does not affect the other.",
    "People disagree whether one should {do} the {a} before or after the {b}; either works if you are careful.",
    "When the {a} turns {quality}, the cause is mostly the {b}, and hardly ever the weather or bad luck.",
)
_CLOSINGS = (
    "Let me know how the {a} looks afterwards, and we can adjust the plan for the {b}.",
    "If any of this is unclear, tell me about the {a} in a little more detail.",
    "Shall I turn this into a checklist for the {a}, or would you rather begin with the {b}?",
    "That should keep you busy for a while; come back when the {b} is done.",
)
_ADVISING = (
    "If you remember one thing from this answer, let it be this. {advice}",
    "One piece of advice that you will not find in most books: {advice}",
    "From all that I know about {topic}, my own recommendation is this. {advice}",
    "A small detail with a large effect: {advice}",
)
_ROW_WORDS = ("first", "before the weekend", "every other week", "if time allows", "when it rains", "last")
_SESSIONS = 20
_TURNS = 3  # a user's and the answer to each
_NEW_SESSIONS = 14  # the others come back to a topic of these
_ABSTENTIONS = 6


class _Answerer:
    """Long answers about one topic, in its words; an answer repeats a pattern once it has used all of its kind."""

    def __init__(self, rng: random.Random, topic: Topic) -> None:
        self._rng = rng
        self._topic = topic

    def answer(self, advice: str | None) -> str:
        """Between 1,000 and 4,000 characters; `advice` stands somewhere in the middle."""
        rng = self._rng
        wanted = rng.randint(*ANSWER_CHARS)
        patterns = {
            "steps": Draw(rng, _STEPS),
            "pitfalls": Draw(rng, _PITFALLS),
            "explanations": Draw(rng, _EXPLANATIONS),
        }
        opening, closing = self._fill(rng.choice(_OPENINGS)), self._fill(rng.choice(_CLOSINGS))
        advised = [self._fill(rng.choice(_ADVISING)).replace("{advice}", advice)] if advice else []
        fixed = sum(len(part) + 2 for part in (opening, closing, *advised))
        sections: list[str] = []
        makers = [self._steps, self._pitfalls, self._explained, self._explained, self._code, self._table]
        rng.shuffle(makers)
        for make in cycle(makers):
            section = make(patterns)
            length = fixed + sum(len(each) + 2 for each in sections)
            if length + len(section) > ANSWER_CHARS[1] - 2 or length >= wanted:
                break
            sections.append(section)
        index = rng.randint(1, len(sections))
        return "\n\n".join([opening, *sections[:index], *advised, *sections[index:], closing])

    def _fill(self, pattern: str) -> str:
        a, b = self._rng.sample(list(self._topic.things), 2)
        do, do2 = self._rng.sample(list(self._topic.actions), 2)
        words = {
            "{a}": a,
            "{b}": b,
            "{do}": do,
            "{Do}": capitalized(do),
            "{do2}": do2,
            "{quality}": self._rng.choice(self._topic.qualities),
            "{topic}": self._topic.name.replace("that I am", "that you are").replace("my ", "your "),
        }
        for index, word in words.items():
            pattern = pattern.replace(index, word)
        return capitalized(re.sub(r"\b([Aa]) (?=(?!uni)[aeiou])", r"\1n ", pattern))

    def _steps(self, patterns: Mapping[str, Draw]) -> str:
        steps = [self._fill(patterns["steps"]()) for _ in range(self._rng.randint(4, 6))]
        heading = self._fill(
            self._rng.choice(("## How to {do} the {a}", "## Steps for the {a}", "## A plan: {do}, {do2}"))
        )
        return "\n".join([heading, "", *(f"{number}. {step}" for number, step in enumerate(steps, 1))])

    def _pitfalls(self, patterns: Mapping[str, Draw]) -> str:
        pitfalls = [self._fill(patterns["pitfalls"]()) for _ in range(self._rng.randint(2, 4))]
        heading = self._rng.choice(("### What usually goes wrong", "### Mistakes to avoid", "### Watch out for"))
        return "\n".join([heading, "", *(f"- {pitfall}" for pitfall in pitfalls)])

    def _explained(self, patterns: Mapping[str, Draw]) -> str:
        return " ".join(self._fill(patterns["explanations"]()) for _ in range(self._rng.randint(2, 4)))

    def _code(self, _: Mapping[str, Draw]) -> str:
        rng = self._rng
        things = [re.sub(r"\W", "_", thing) for thing in rng.sample(list(self._topic.things), 4)]
        actions = [re.sub(r"\W", "_", action) for action in rng.sample(list(self._topic.actions), 3)]
        quality = re.sub(r"\W", "_", rng.choice(self._topic.qualities))
        shape = rng.choice(("python", "yaml", "sql"))
        if shape == "python":
            lines = [
                f"def {actions[0]}_{things[0]}({things[1]}, {things[2]}):",
                f"    for each in {things[1]}:",
                f'        if each.state == "{quality}":',
                f"            {actions[1]}(each, {things[2]})",
                f"    return {actions[2]}({things[3]})",
            ]
        elif shape == "yaml":
            lines = [f"{things[0]}:", f"  state: {quality}", "  tasks:"]
            lines += [f"    - {action}: {thing}" for action, thing in zip(actions, things[1:], strict=True)]
        else:
            lines = [
                f"SELECT {things[0]}, {things[1]}",
                f"FROM {things[2]}_log",
                f"WHERE state = '{quality}' AND next_task = '{actions[0]}'",
                f"ORDER BY {things[3]};",
            ]
        said = self._fill("To keep track of the {a}, something as small as this is enough:")
        return "\n".join([said, "", f"```{shape}", *lines, "```"])

    def _table(self, _: Mapping[str, Draw]) -> str:
        rng = self._rng
        things = rng.sample(list(self._topic.things), 4)
        actions = rng.sample(list(self._topic.actions), 4)
        times = rng.sample(_ROW_WORDS, 4)
        rows = [f"| {thing} | {action} | {time} |" for thing, action, time in zip(things, actions, times, strict=True)]
        return "\n".join(["| Part | What to do | When |", "|---|---|---|", *rows])


@dataclass(slots=True)
class _Stated:
    """A fact that a user's message stated, and where."""

    fact: Fact
    value: str
    evidence: list[str]


class _LongAnswers:
    """One conversation with an assistant, session by session: 14 topics, then six of them again with a changed fact."""

    def __init__(self, rng: random.Random, seed: int) -> None:
        self._rng = rng
        self._seed = seed
        self._clock = Clock(rng)
        self._requests, self._updates = Draw(rng, _REQUESTS), Draw(rng, _UPDATES)
        self._messages: list[Message] = []
        self._stated: dict[str, list[_Stated]] = {}
        self._said: list[Question] = []

    def make(self) -> MadeConversation:
        rng = self._rng
        topics = rng.sample(all_topics(), _NEW_SESSIONS)
        again = rng.sample(topics, _SESSIONS - _NEW_SESSIONS)
        shuffled = {topic.name: rng.sample(list(topic.facts), len(topic.facts)) for topic in topics}
        advised = {topic.name: rng.sample(list(topic.advice), len(topic.advice)) for topic in topics}
        for number, topic in enumerate([*topics, *again], 1):
            self._clock.next_session()
            advising, changing = rng.randrange(_TURNS), rng.randrange(_TURNS)
            for turn, goal in enumerate(rng.sample(list(topic.goals), _TURNS)):
                stated = None
                if number <= _NEW_SESSIONS:
                    fact = shuffled[topic.name][turn]
                    stated = _Stated(fact, rng.choice(fact.values), [])
                    self._stated.setdefault(topic.name, []).append(stated)
                elif turn == changing:
                    stated = self._changed(topic)
                self._turn(number, turn, topic, goal, stated, advised[topic.name].pop() if turn == advising else None)
        return {
            "id": f"long-answers-{self._seed}",
            "kind": KIND,
            "messages": self._messages,
            "questions": self._questions({topic.name: shuffled[topic.name][_TURNS:] for topic in topics}),
        }

    def _changed(self, topic: Topic) -> _Stated:
        """A fact of the topic with another value."""
        stated = self._rng.choice(self._stated[topic.name])
        stated.value = self._rng.choice([value for value in stated.fact.values if value != stated.value])
        return stated

    def _turn(
        self,
        session: int,
        turn: int,
        topic: Topic,
        goal: str,
        stated: _Stated | None,
        advice: tuple[str, str] | None,
    ) -> None:
        message = self._add(session, turn * 2 + 1, "user", self._request(topic, goal, stated))
        if stated is not None:
            stated.evidence.append(message)
        answer = _Answerer(self._rng, topic).answer(advice[1] if advice else None)
        answered = self._add(session, turn * 2 + 2, "assistant", answer)
        if advice:
            self._said.append({"question": advice[0], "category": "you-said", "evidence": [answered]})

    def _request(self, topic: Topic, goal: str, stated: _Stated | None) -> str:
        if stated is None:
            thing = self._rng.choice(topic.things)
            return self._rng.choice(
                (
                    f"One more about {topic.name}: is there a better way to {goal}, now that the {thing} is done?",
                    f"Back to {topic.name}. I still can't {goal}, and the {thing} is driving me mad. Any ideas?",
                    f"Would you go through it with me once more? I'd like to {goal} and begin with the {thing}.",
                )
            )
        draw = self._updates if stated.evidence else self._requests
        fact = stated.fact.clause.format(stated.value)
        for _ in range(len(_REQUESTS)):
            request = draw().format(goal=goal, fact=fact, Fact=capitalized(fact), topic=topic.name)
            if REQUEST_CHARS[0] <= len(request) <= REQUEST_CHARS[1]:
                break
        return request

    def _add(self, session: int, number: int, role: str, content: str) -> str:
        id_ = f"s{session}-{number:02d}"
        timestamp = self._clock.next_message()
        self._messages.append(
            {"id": id_, "session": f"s{session}", "role": role, "content": content, "timestamp": timestamp}
        )
        return id_

    def _questions(self, untold: Mapping[str, Sequence[Fact]]) -> list[Question]:
        rng = self._rng
        stated = [each for facts in self._stated.values() for each in facts]
        facts = [each for each in stated if len(each.evidence) == 1]
        absent = [fact.question for facts in untold.values() for fact in facts]
        asked: list[Question] = [
            {"question": each.fact.question, "category": "fact", "evidence": each.evidence}
            for each in rng.sample(facts, min(22, len(facts)))
        ]
        asked += rng.sample(self._said, min(12, len(self._said)))
        asked += [
            {"question": each.fact.question, "category": "update", "evidence": each.evidence}
            for each in stated
            if len(each.evidence) > 1
        ]
        asked += [
            {"question": question, "category": "abstention", "evidence": []}
            for question in rng.sample(absent, _ABSTENTIONS)
        ]
        return asked


def long_answers(rng: random.Random, seed: int) -> MadeConversation:
    return _LongAnswers(rng, seed).make()
