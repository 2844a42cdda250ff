"""Reads a query: its terms, the speakers and dates that it names, and whether it asks for a time or a number. Pure.

Rules, not a model, in the languages of keyword_index/languages.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo

from memorybase.core.keyword_index import analyzer as keywords
from memorybase.core.keyword_index import scripts
from memorybase.core.keyword_index.analyzer import Asked, Spoken
from memorybase.core.keyword_index.languages import ENGLISH, Language
from memorybase.core.keyword_index.scripts import normal
from memorybase.core.search import date_tokens, periods
from memorybase.core.search.passages import PassageTerms
from memorybase.core.search.periods import Period

_IS_QUESTION = re.compile(
    r"^\W*(?:what|when|where|which|whom?|whose|why|how|is|are|was|were|do|does|did|have|has|had|can|could|should|would"
    r"|will)\b|[?\u061f\uff1f]\W*$"
)
_WORDS = re.compile(r"[\w\u0900-\u0df3'\u2019-]+")  # Indic vowel signs are no word characters
_JOINT = re.compile(r"[-_'\u2019]")
_POSSESSIVE = re.compile("['\\u2019]s$", re.IGNORECASE)

# Phrases that ask for nothing, in the languages of keyword search.
_SMALL_TALK = frozenset(
    "hi hello hey hiya yo thanks thank thx ty ok okay yes yeah yep nope bye goodbye good morning evening afternoon "
    "night great nice cool fine sure perfect awesome wow hm hmm lol haha please welcome sorry alright go continue "
    "lot much right really "
    "hallo danke ja nein bitte guten gute morgen abend tschüss dank wiedersehen bonjour bonsoir salut merci oui non "
    "au revoir hola gracias sí buenos buenas adiós ciao grazie prego buongiorno buonasera buonanotte arrivederci sì "
    "olá oi obrigado obrigada sim bom boa tchau hoi bedankt nee doei goedemorgen goedemiddag goedenavond cześć "
    "dziękuję dzięki dobry dobranoc tak nie merhaba selam teşekkürler teşekkür günaydın evet привет здравствуйте "  # noqa: RUF001
    "спасибо добрый доброе да нет 你好 您好 你好吗 谢谢 谢谢你 谢谢您 多谢 再见 早上好 晚上好 晚安 好的 こんにちは "
    "こんばんは おはよう おはようございます ありがとう ありがとうございます どうもありがとう "
    "どうもありがとうございます さようなら はい いいえ नमस्ते धन्यवाद शुक्रिया مرحبا أهلا شكرا عليكم الخير".split()
)
_GREETING = re.compile(
    r"\b(?:see you|how are you(?: doing)?|how's it going|wie geht(?:'s| es) (?:dir|ihnen|euch)|(?:comment )?ça va|"
    r"comment vas-tu|qué tal|cómo estás?|come (?:stai|va)|tudo bem|hoe gaat het|jak się masz|nasılsın|как дела)\b"  # noqa: RUF001
)
# Words besides these: alone they are asked for.
_WITH_SMALL_TALK = frozenset(
    "tag nacht vielen herzlichen schönen beaucoup nuit soirée journée bonne muchas días tardes noches dia tarde noite "
    "mille tante goede middag dzień wieczór ederim iyi akşamlar geceler большое огромное день утро вечер जी السلام "
    "صباح مساء جزيلا وسهلا "
    "later soon today tomorrow tonight weekend monday tuesday wednesday thursday friday saturday sunday bis bald "
    "später war wars demain bientôt mañana luego hasta pronto domani presto amanhã logo morgen straks".split()
)

MOST_KEYWORDS = 3
MOST_DECLINED = 50  # words whose other forms are looked up as names; a question is shorter


@dataclass(frozen=True, slots=True)
class Question:
    """A query that was read once, for all that a search does with it.

    `asked` are its stems without speakers' names, `analyzer` is that of its language, `text` is embedded. It leaves
    names out, because a name weighs so much in a sentence vector that every turn of that speaker looks like an answer;
    the signal `speaker` counts them.
    """

    query: str
    analyzer: keywords.Analyzer
    asked: Asked
    names: frozenset[str]
    text: str
    asks_time: bool
    asks_number: bool
    asks_other_side: bool  # what the other side said: "What did you suggest?"
    asks_help: bool  # with something now, so that standing wishes matter; not about what was said before
    is_keywords: bool  # up to three words, each a term or a name: no sentence says what is asked
    is_small_talk: bool  # "hi", "thanks a lot": nothing is asked
    is_question: bool  # by its first word in English, or its mark
    periods: tuple[Period, ...]
    is_time_alone: bool  # it names a time, and besides asks only what was said or happened then
    specific: frozenset[str]  # the terms that an answer may have: no part of a time, and no word such as know or tell
    asked_at: datetime
    asks_first: bool = False  # of several events
    asks_latest: bool = False
    asks_order: bool = False  # of what was talked about

    @property
    def terms(self) -> tuple[str, ...]:
        return self.asked.terms

    @property
    def sought(self) -> PassageTerms:
        """The terms of a passage that answers."""
        return PassageTerms(self.asked.terms, self.asked.others, self.analyzer)

    def reading(self, meant: Mapping[str, Sequence[str]]) -> Question:
        """The question with the words that its misspelled ones are read as, by terms."""
        if not meant:
            return self
        others = dict(self.asked.others)
        for term, words in meant.items():
            others[term] = (*others.get(term, ()), *words)
        return replace(self, asked=replace(self.asked, others=others))


def possible_names(query: str, language: str = ENGLISH.name) -> set[str]:
    """The case-folded words that may name a speaker, and what they may be declined from."""
    own = keywords.analyzer(language).of(query)
    words = own.kept(own.words(query))[:MOST_DECLINED]
    found = keywords.name_words(query).union(*(keywords.name_forms(word, own.rules) for word in words))
    return {word for word in found if len(word) > 1}


def parse(
    query: str,
    *,
    language: str,
    speakers: Collection[str],
    now: datetime,
    spoken: Spoken = tuple,
    zone: tzinfo = UTC,
) -> Question:
    """Parse a query; `speakers` are its words that name a speaker of the flow, `spoken` reads the flow's languages.

    Days are those of the zone.
    """
    analyzer = keywords.analyzer(language)
    own = analyzer.of(query)
    names = frozenset(speakers)
    asked = _without_name_terms(analyzer.asked(query, spoken), query, own, names)
    times = periods.named(normal(query), now, own.rules, zone)
    asks = own.rules.question_kinds(query)
    return Question(
        query=query,
        analyzer=own,
        asked=asked,
        names=names,
        text=_without_names(query, names, own.rules),
        asks_time="asks_time" in asks,
        asks_number="asks_number" in asks,
        asks_other_side="asks_other_side" in asks,
        asks_help="asks_help" in asks and asks.isdisjoint(("asks_other_side", "asks_to_recall")),
        is_keywords=_is_keywords(query, own),
        is_small_talk=_is_small_talk(times.rest if times.periods else query, own),
        is_question=bool(_IS_QUESTION.search(query.casefold())),
        periods=times.periods,
        is_time_alone=_is_time_alone(times, own, names),
        specific=_specific(times, query, own, asked),
        asked_at=now,
        asks_first=not times.periods and "asks_first" in asks,
        asks_latest=not times.periods and "asks_latest" in asks,
        asks_order="asks_order" in asks,
    )


def is_question(text: str, language: str) -> bool:
    """Whether a sentence asks, by its mark, or by its form in the languages that show it."""
    if _IS_QUESTION.search(text.casefold()):
        return True
    rules = keywords.analyzer(language).of(text).rules
    return rules.unmarked_question.search(rules.read(text)) is not None


def is_small_talk(text: str, language: str) -> bool:
    """Whether a sentence asks for nothing: "hi", "thanks a lot"."""
    return _is_small_talk(text, keywords.analyzer(language).of(text))


def _is_keywords(query: str, own: keywords.Analyzer) -> bool:
    return 0 < len(own.asked_words(query)) == len(own.words(query)) <= MOST_KEYWORDS


def _is_time_alone(times: periods.Named, own: keywords.Analyzer, names: Collection[str]) -> bool:
    if not times.periods or names:
        return False
    return not date_tokens.says_more(times.rest, own.rules, own.kept(own.words(times.rest)))


def _specific(times: periods.Named, query: str, own: keywords.Analyzer, asked: Asked) -> frozenset[str]:
    words = own.kept(own.words(times.rest if times.periods else query))
    return frozenset(own.stems(date_tokens.specific(words, own.rules))).intersection(asked.terms)


def _is_small_talk(query: str, own: keywords.Analyzer) -> bool:
    query = _GREETING.sub(" hi ", query.casefold())
    kept = own.kept(own.words(query))
    if scripts.has_unspaced(query):  # as a whole: pairs of its characters are in other words too
        kept = scripts.WORD.findall(query.casefold())
    return not _SMALL_TALK.isdisjoint(kept) and _SMALL_TALK.union(_WITH_SMALL_TALK).issuperset(kept)


def _without_name_terms(asked: Asked, query: str, own: keywords.Analyzer, names: Collection[str]) -> Asked:
    if not names:
        return asked
    named = [word for word in own.words(query) if keywords.name_forms(word, own.rules) & set(names)]
    name_terms = {*own.terms(" ".join(names)), *own.stems(named)}
    return replace(asked, terms=tuple(term for term in asked.terms if term not in name_terms))


def _without_names(query: str, names: Collection[str], language: Language) -> str:
    words = _WORDS.findall(query) if names else []
    kept = [word for word in words if not _is_name(word, names, language)]
    return " ".join(kept) if 1 < len(kept) < len(words) else query


def _is_name(word: str, names: Collection[str], language: Language) -> bool:
    is_compound = language.compounds_are_words and _JOINT.search(_POSSESSIVE.sub("", word)) is not None
    return not is_compound and not possible_names(word, language.name).isdisjoint(names)
