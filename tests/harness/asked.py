"""The questions that pages and programs ask, each with what was captured before: read out of their code."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from shown import reply

_BLOCK = re.compile(r"^ *```(sh|python|ts|json)\n(.*?)^ *```$", flags=re.MULTILINE | re.DOTALL)
_LITERAL = re.compile(r'(?<!")"([^"\\\n]*[^"\\\s])"(?!")')  # no docstring
_ROLE = re.compile(r"""\brole["']?: ["'](\w+)""")
_ID = re.compile(r'"(?:id|evidence)": \[?"([^"]+)"')
_CONTENT = re.compile(r"""\bcontent["']?: $""")
_QUERY = re.compile(r"""\b(?:query|question)["']?(?:: |=)$""")
_SENTENCE = re.compile(r"[A-Z].* .*[.?]")
_NOT_SAID = ("instructions=", "responses=")  # sentences that nobody says to an agent
_SAID_IN_PROSE = re.compile(r'\bsay "([^"]+)".* ask "([^"]+)"')
_RECALLED = re.compile(r'- (?:\[[\d-]+\] )?(user|assistant): (?:… )?([^\n"]+?)(?: …)?(?="|$)', flags=re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Said:
    """A message. `id`: the page's own."""

    role: str
    text: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the messages before it, and the one of them that answers it."""

    page: str
    said: tuple[Said, ...]
    question: str
    answer: str


@dataclass(slots=True)
class Conversation:
    """What the code of one page in one language has captured and asked so far. A question is answered by the first
    message of a user since the question before, unless it names its evidence."""

    page: str
    said: list[Said] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)  # nothing was captured before
    _answer: str = ""
    _is_new: bool = True
    _is_chat: bool = False  # texts go to an agent, whose questions and answers are captured too

    def say(self, said: Said) -> None:
        if said not in self.said:
            self.said.append(said)
            if said.role == "user" and self._is_new:
                self._answer, self._is_new = said.text, False

    def ask(self, question: str, evidence: str = "") -> None:
        answer = next((each.text for each in self.said if evidence and each.id == evidence), self._answer)
        if not answer:
            self.unanswered.append(question)
        elif question not in [each.question for each in self.asked]:
            self.asked.append(Asked(self.page, tuple(self.said), question, answer))
            self._is_new = True

    def chat(self, text: str) -> None:
        self._is_chat = True
        known = "".join(each.text for each in self.said)
        if text.endswith("?"):
            self.ask(text)
            self.said.append(Said("user", text))
        else:
            self.say(Said("user", text))
        self.said.append(Said("assistant", reply(text + known * text.endswith("?"))))

    def read(self, code: str) -> None:
        for line in code.splitlines():
            id_ = (_ID.findall(line) or [""])[0]
            for literal in _LITERAL.finditer(line):
                before, text = line[: literal.start()], literal[1]
                if _CONTENT.search(before):
                    self.say(Said((_ROLE.findall(before) or ["user"])[-1], text, id_))
                elif _QUERY.search(before) or (text.endswith("?") and self.said and not self._is_chat):
                    self.ask(text, id_)
                elif _SENTENCE.fullmatch(text) and not any(mark in line for mark in _NOT_SAID):
                    self.chat(text)


def asked_by(path: Path, root: Path) -> list[Asked]:
    """The questions of a page, or of a program. If it captures nothing, what it shows as found was captured."""
    page, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
    read: defaultdict[str, Conversation] = defaultdict(lambda: Conversation(page))  # by language
    for language, code in _code_of(path):
        read[language].read(code)
    for texts in _SAID_IN_PROSE.findall(text):
        for each in texts:
            read["prose"].chat(each)
    if not any(each.asked for each in read.values()):
        shown = Conversation(page)
        for said in [Said(*each) for each in _RECALLED.findall(text)] or read["json"].said:
            shown.say(said)
        for question in [question for each in read.values() for question in each.unanswered]:
            shown.ask(question)
        read["shown"] = shown
    return [asked for each in read.values() for asked in each.asked]


def questions_in(path: Path) -> set[str]:
    """All texts in the code of a page, or of a program, that are questions."""
    return {text for _, code in _code_of(path) for text in _LITERAL.findall(code) if text.endswith("?")}


def _code_of(path: Path) -> list[tuple[str, str]]:
    text = path.read_text(encoding="utf-8")
    return _BLOCK.findall(text) if path.suffix == ".md" else [("", text)]
