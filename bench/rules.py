"""Judges the rules for languages, standing statements and corrections by what people ask and say.

    python bench/rules.py [--only languages standing corrections] [--by-language] [--misses] [--results FOLDER]

The sentences of bench/conversations/rules were written for this, one file a language, each with the rules that should
recognize it. A sentence counts against every other rule of its part of the file. For each rule: the sentences that it
should recognize, those that it recognizes wrongly, its precision and its recall.

    languages    the patterns of keyword_index/languages, over all languages or with --by-language over each
    standing     each form of standing_statements/forms alone, and the finder as a whole
    corrections  pairs of messages, by what the later one says; with the default model's likeness

--misses prints every sentence that is judged wrongly.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import runs
from made import changes
from made.files import FOLDER
from runs import Run

from memorybase.core.embedding import Embedders
from memorybase.core.keyword_index.analyzer import DETECT, analyzer
from memorybase.core.keyword_index.languages import LANGUAGES, Language
from memorybase.core.search import about_person
from memorybase.core.settings import Settings
from memorybase.features.hit_corrections import pairs
from memorybase.features.hit_corrections.marking import Likeness
from memorybase.features.standing_statements import finder, forms

RULES = FOLDER / "rules"
PARTS = ("languages", "standing", "corrections")
NONE = "-"
DENIED = "denial"  # the kind of pairs of which one denies what the other claims
START = datetime(2026, 3, 2, 9, tzinfo=UTC)
QUESTIONS = {
    "time": "asks_time",
    "number": "asks_number",
    "side": "asks_other_side",
    "first": "asks_first",
    "last": "asks_latest",
    "order": "asks_order",
}
SOUGHT = {"what": "any", "past": "otherwise"}
STATEMENTS = ("change", "again", "no", "if", "lasts")


class Row(NamedTuple):
    """A line of a file: the names of the rules that should recognize it, and its texts. "-" denies what follows it."""

    label: str
    texts: tuple[str, ...]

    @property
    def rules(self) -> frozenset[str]:
        return frozenset(self.label.split()) - {NONE}

    @property
    def is_positive(self) -> bool:
        return not self.label.startswith(NONE)


@dataclass
class Judged:
    """What a rule recognized of what it should."""

    right: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def add(self, text: str, *, expected: bool, found: bool) -> None:
        if expected and found:
            self.right.append(text)
        if expected and not found:
            self.missed.append(text)
        if found and not expected:
            self.wrong.append(text)

    @property
    def support(self) -> int:
        return len(self.right) + len(self.missed)

    @property
    def precision(self) -> float:
        return len(self.right) / max(1, len(self.right) + len(self.wrong))

    @property
    def recall(self) -> float:
        return len(self.right) / max(1, self.support)


def sections(file: Path) -> dict[str, list[Row]]:
    """The rows of a file by the headings above them."""
    found: dict[str, list[Row]] = {}
    heading = ""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            heading = line.removeprefix("# ")
        else:
            label, *texts = (part.strip().replace("\\n", "\n") for part in line.split(" | "))
            row = Row(label, tuple(texts))
            found.setdefault(heading, []).append(row)
    return found


def recognized(text: str, language: Language) -> frozenset[str]:
    """The rules that recognize a question."""
    kinds, sought = language.question_kinds(text), language.sought_kinds(text)
    found = {name for name, kind in QUESTIONS.items() if kind in kinds}
    found |= {name for name, kind in SOUGHT.items() if kind in sought}
    return frozenset(found | ({"person"} if about_person.asks_about_person(text, language.name) else set()))


def told(text: str, language: Language) -> frozenset[str]:
    """The rules that recognize a statement."""
    read = language.read(text)
    found = {
        "change": language.change.search(read),
        "again": language.return_.search(read),
        "no": language.denials(text),
        "if": language.supposition.search(read),
        "lasts": language.lasts.search(read),
    }
    return frozenset(name for name, is_found in found.items() if is_found)


def judge_languages(names: Iterable[str] = LANGUAGES) -> dict[str, Judged]:
    found = {name: Judged() for name in (*QUESTIONS, *SOUGHT, "person", *STATEMENTS)}
    for name in names:
        rows, language = sections(RULES / f"{name}.txt"), LANGUAGES[name]
        for heading, rules, read in (
            ("questions", (*QUESTIONS, *SOUGHT, "person"), recognized),
            ("statements", STATEMENTS, told),
        ):
            for row in rows[heading]:
                recognizes = read(row.texts[0], language)
                for rule in rules:
                    found[rule].add(f"{name}: {row.texts[0]}", expected=rule in row.rules, found=rule in recognizes)
    return found


def judge_standing() -> dict[str, Judged]:
    """Each form alone, by its name, and all of them together."""
    rows = sections(RULES / "standing.txt")[""]
    every = (*forms.INSTRUCTIONS, *forms.POLITE_REQUESTS, *forms.PREFERENCES)
    found = {form.name: Judged() for form in every} | {"all": Judged()}
    for row in rows:
        by = {each.form for each in finder.find(row.texts[0])}
        for form in every:
            is_meant = form.name in row.rules
            counts = is_meant or not row.is_positive  # other forms may recognize it besides
            found[form.name].add(row.texts[0], expected=is_meant, found=counts and form.name in by)
        found["all"].add(row.texts[0], expected=row.is_positive, found=bool(by))
    return found


def correction_pairs() -> Iterator[tuple[str, str, bool, Sequence[str]]]:
    """What kind of pair it is, its question, whether the later message corrects the earlier one, and both."""
    for each in (*changes.pairs(), *changes.unseen_pairs()):
        yield each.kind, each.question, each.changed, (each.earlier, each.later)
    for row in sections(RULES / "corrections.txt")[""]:
        yield row.label.removeprefix(NONE).strip(), row.texts[0], row.is_positive, row.texts[1:]
    for name in LANGUAGES:
        for row in sections(RULES / f"{name}.txt").get("corrections", ()):
            yield "in another language", row.texts[0], row.is_positive, row.texts[1:]


def judge_corrections(embedders: Embedders, model: str) -> dict[str, Judged]:
    words, embedder = analyzer(DETECT), embedders.get(model)
    found: dict[str, Judged] = {}
    for kind, question, is_change, texts in correction_pairs():
        own = words.of(question)
        messages = [pairs.Said("user", (START + timedelta(hours=n), n), text) for n, text in enumerate(texts)]
        sought = pairs.sought_by(question, words)
        stated = pairs.stated(messages, question, sought, own) if sought else []
        likeness = Likeness(embedder, [question, *(each.text for each in stated)])
        corrections = pairs.find(messages, stated, question, likeness.of, own)
        marked = [
            each for each in corrections if each.newer == len(texts) - 1 and (each.kind == "denial") == (kind == DENIED)
        ]
        for name in (kind, *(f"by {each.kind}" for each in marked)):
            found.setdefault(name, Judged()).add(f"{question} {texts}", expected=is_change, found=bool(marked))
    return found


def show(title: str, found: Mapping[str, Judged], kept: Run, *, misses: bool) -> None:
    kept.report[title] = {
        name: {
            "sentences": each.support,
            "wrong": len(each.wrong),
            "precision": round(each.precision, 4) if each.right or each.wrong else None,
            "recall": round(each.recall, 4) if each.support else None,
        }
        for name, each in found.items()
    }
    print(f"{title:22}{'should':>7}{'wrong':>7}{'precision':>11}{'recall':>8}")
    for name, judged in found.items():
        precision = f"{judged.precision:11.2f}" if judged.right or judged.wrong else f"{'-':>11}"
        recall = f"{judged.recall:8.2f}" if judged.support else f"{'-':>8}"
        print(f"  {name:20}{judged.support:7}{len(judged.wrong):7}{precision}{recall}")
        for label, texts in (("right", judged.right), ("missed", judged.missed), ("wrong", judged.wrong)):
            for text in texts:
                kept.add(part=title, rule=name, text=text, judged=label)
                if misses and label != "right":
                    print(f"      {label}: {text!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--by-language", action="store_true")
    parser.add_argument("--misses", action="store_true")
    runs.add_option(parser)
    chosen, settings = parser.parse_args(), Settings()
    kept = Run({"about": runs.about(settings)})
    if "languages" in chosen.only:
        for names in [[name] for name in LANGUAGES] if chosen.by_language else [list(LANGUAGES)]:
            show(
                " ".join(names) if len(names) == 1 else "languages", judge_languages(names), kept, misses=chosen.misses
            )
    if "standing" in chosen.only:
        show("standing", judge_standing(), kept, misses=chosen.misses)
    if "corrections" in chosen.only:
        judged = judge_corrections(Embedders(settings), settings.embedding_model)
        show("corrections", judged, kept, misses=chosen.misses)
    if chosen.results:
        kept.write(chosen.results)


if __name__ == "__main__":
    main()
