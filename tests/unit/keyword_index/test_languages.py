# ruff: noqa: RUF001 - the texts are in many languages
"""Telling languages, and what the analyzer and the query parser know of each."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from harness.rows import each_row
from made.in_languages import in_languages

from memorybase.core.keyword_index import index
from memorybase.core.keyword_index.analyzer import DETECT, MAX_COUNT, Traits, analyzer, name_forms
from memorybase.core.keyword_index.languages import LANGUAGES, LATIN, Language
from memorybase.core.search.query_parser import Question, parse, possible_names

CONVERSATIONS = in_languages()
# Questions for what was yesterday, last week, last month, last year, two weeks ago, last Monday, this week, this month.
RELATIVE = {
    "german": (
        "Was habe ich gestern gesagt?",
        "Was haben wir letzte Woche gemacht?",
        "Was haben wir letzten Monat gemacht?",
        "Was haben wir letztes Jahr gemacht?",
        "Was haben wir vor zwei Wochen besprochen?",
        "Was habe ich letzten Montag gesagt?",
        "Was haben wir diese Woche besprochen?",
        "Was haben wir diesen Monat besprochen?",
    ),
    "french": (
        "Qu'est-ce que j'ai dit hier ?",
        "Qu'avons-nous fait la semaine dernière ?",
        "Qu'est-ce que j'ai dit le mois dernier ?",
        "Qu'avons-nous fait l'année dernière ?",
        "De quoi avons-nous parlé il y a deux semaines ?",
        "Qu'est-ce que j'ai dit lundi dernier ?",
        "Qu'avons-nous fait cette semaine ?",
        "Qu'avons-nous fait ce mois-ci ?",
    ),
    "spanish": (
        "¿Qué dije ayer?",
        "¿Qué hicimos la semana pasada?",
        "¿Qué hicimos el mes pasado?",
        "¿Qué hicimos el año pasado?",
        "¿De qué hablamos hace dos semanas?",
        "¿Qué dije el lunes pasado?",
        "¿Qué hicimos esta semana?",
        "¿Qué hicimos este mes?",
    ),
    "portuguese": (
        "O que eu disse ontem?",
        "O que fizemos na semana passada?",
        "O que fizemos no mês passado?",
        "O que fizemos no ano passado?",
        "De que falamos há duas semanas?",
        "O que eu disse na segunda-feira passada?",
        "O que fizemos esta semana?",
        "O que fizemos este mês?",
    ),
    "italian": (
        "Che cosa ho detto ieri?",
        "Che cosa abbiamo fatto la settimana scorsa?",
        "Che cosa abbiamo fatto il mese scorso?",
        "Che cosa abbiamo fatto l'anno scorso?",
        "Di che cosa abbiamo parlato due settimane fa?",
        "Che cosa ho detto lunedì scorso?",
        "Che cosa abbiamo fatto questa settimana?",
        "Che cosa abbiamo fatto questo mese?",
    ),
    "dutch": (
        "Wat heb ik gisteren gezegd?",
        "Wat hebben we vorige week gedaan?",
        "Wat hebben we vorige maand gedaan?",
        "Wat hebben we vorig jaar gedaan?",
        "Wat hebben we twee weken geleden besproken?",
        "Wat heb ik afgelopen maandag gezegd?",
        "Wat hebben we deze week gedaan?",
        "Wat hebben we deze maand gedaan?",
    ),
    "polish": (
        "Co mówiłem wczoraj?",
        "Co robiliśmy w zeszłym tygodniu?",
        "Co robiliśmy w zeszłym miesiącu?",
        "Co robiliśmy w zeszłym roku?",
        "O czym rozmawialiśmy dwa tygodnie temu?",
        "Co mówiłem w zeszły poniedziałek?",
        "Co robiliśmy w tym tygodniu?",
        "Co robiliśmy w tym miesiącu?",
    ),
    "russian": (
        "Что я говорил вчера?",
        "Что мы делали на прошлой неделе?",
        "Что мы делали в прошлом месяце?",
        "Что мы делали в прошлом году?",
        "О чём мы говорили две недели назад?",
        "Что я говорил в прошлый понедельник?",
        "Что мы делали на этой неделе?",
        "Что мы делали в этом месяце?",
    ),
    "turkish": (
        "Dün ne dedim?",
        "Geçen hafta ne yaptık?",
        "Geçen ay ne yaptık?",
        "Geçen yıl ne yaptık?",
        "İki hafta önce ne konuştuk?",
        "Geçen pazartesi ne dedim?",
        "Bu hafta ne yaptık?",
        "Bu ay ne yaptık?",
    ),
    "arabic": (
        "ماذا قلت أمس؟",
        "ماذا فعلنا الأسبوع الماضي؟",
        "ماذا فعلنا الشهر الماضي؟",
        "ماذا فعلنا العام الماضي؟",
        "عن ماذا تحدثنا قبل أسبوعين؟",
        "ماذا قلت يوم الاثنين الماضي؟",
        "ماذا فعلنا هذا الأسبوع؟",
        "ماذا فعلنا هذا الشهر؟",
    ),
    "hindi": (
        "",  # one word is yesterday and tomorrow
        "हमने पिछले हफ़्ते क्या किया?",
        "हमने पिछले महीने क्या किया?",
        "हमने पिछले साल क्या किया?",
        "हमने दो हफ़्ते पहले क्या बात की?",
        "मैंने पिछले सोमवार को क्या कहा?",
        "हमने इस हफ़्ते क्या किया?",
        "हमने इस महीने क्या किया?",
    ),
    "chinese": (
        "昨天我说了什么？",
        "我们上周做了什么？",
        "我们上个月做了什么？",
        "我们去年做了什么？",
        "我们两周前谈了什么？",
        "",  # no word is for the last Monday, whatever its week
        "我们这周做了什么？",
        "我们这个月做了什么？",
    ),
    "japanese": (
        "昨日何と言いましたか",
        "先週何をしましたか",
        "先月何をしましたか",
        "去年何をしましたか",
        "二週間前に何を話しましたか",
        "この前の月曜日に何と言いましたか",
        "今週何をしましたか",
        "今月何をしましたか",
    ),
}
OTHERS = [language for language in CONVERSATIONS if language != "english"]
NOW = datetime(2023, 8, 16, 12, tzinfo=UTC)  # a Wednesday
DETECTING = analyzer(DETECT)
ALL = ("english", "german", "none", DETECT)


def asked(query: str, *speakers: str, spoken: tuple[str, ...] = ()) -> Question:
    names = set(speakers) & possible_names(query, DETECT)
    return parse(query, language=DETECT, speakers=names, now=NOW, spoken=lambda: spoken)


def detected(text: str) -> str:
    return DETECTING.of(text).language


class TestDetection:
    @each_row("language", OTHERS)
    def test_most_messages_show_their_language_and_hardly_any_another(self, language: str) -> None:
        found = [detected(message["content"]) for message in CONVERSATIONS[language]["messages"]]
        assert sum(each not in (language, "english") for each in found) <= 1
        assert found.count(language) >= 13  # of 18

    @each_row("language", OTHERS)
    def test_most_questions_show_their_language(self, language: str) -> None:
        found = [detected(each["question"]) for each in CONVERSATIONS[language]["questions"]]
        assert set(found) <= {language, "english"}
        assert found.count(language) >= 7  # of 10; one is a single word

    @each_row(
        "text",
        [
            "Die Hard",
            "Don't tell anyone.",
            "I want a brass band.",
            "Los Angeles, La Jolla, Las Vegas",
            "chat en route",
            "del x; per item",
            "for (int i = 0; i < n; i++) { de[i] = la[i]; }",
            "one-to-one",
            "Café naïve résumé",
            "Tue 5 Mar",
            "",
            "?!",
            "42",
        ],
    )
    def test_other_texts_are_analyzed_in_english(self, text: str) -> None:
        assert detected(text) == "english"
        assert DETECTING.document(text).counts == analyzer("english").document(text).counts

    @each_row(
        ("text", "language"),
        [
            ("Wann ist der Termin?", "german"),
            ("¿Cuándo es la reunión?", "spanish"),
            ("Los hoteles de la costa en el sur", "spanish"),  # by words that others have, but so many
            ("привет", "russian"),
            ("习惯", "chinese"),
            ("猫です", "japanese"),
            ("We met 李明 at the office today", "english"),
            ("Україна і є", "english"),  # Ukrainian: not stemmed
            ("سلام گل", "english"),  # Persian
            ("한국어", "english"),
        ],
    )
    def test_short_texts_are_told_by_words_and_scripts(self, text: str, language: str) -> None:
        assert detected(text) == language

    def test_a_message_is_analyzed_as_a_whole_in_the_language_of_most_words(self) -> None:
        assert detected("Der Kunde schreibt: 'please call me'. Ruf ihn an und sag es dem Team.") == "german"


class TestAnalysis:
    @each_row(
        ("language", "one", "other"),
        [
            ("german", "die Häuser", "ein Haus"),
            ("french", "l'appartement", "des appartements"),
            ("french", "Qu\u2019est-ce que c\u2019est, l\u2019hôtel ?", "hôtels"),
            ("spanish", "las reuniones", "una reunión"),
            ("portuguese", "os apartamentos", "um apartamento"),
            ("italian", "dell'affitto", "gli affitti"),
            ("dutch", "de woningen", "een woning"),
            ("polish", "wizyty", "wizytę"),
            ("turkish", "\u0130stanbul'da", "istanbul"),
            ("turkish", "ILIK", "ılık"),
            ("russian", "ещё ёлки", "елка"),
            ("arabic", "الم\u064eك\u0652ت\u064eب", "مكتب"),
            ("hindi", "किताबें", "किताब"),
        ],
    )
    def test_forms_of_a_word_have_the_same_term(self, language: str, one: str, other: str) -> None:
        own = analyzer(language)
        assert own.terms(one) == own.terms(other) != []

    def test_hindi_words_are_not_cut_at_vowel_signs(self) -> None:
        assert analyzer("none").words("बिल्ली।") == ["बिल्ली"]

    def test_signals_that_know_english_are_zero_in_other_languages(self) -> None:
        text = "Ich will ab jetzt immer Paris und nicht London auf unserer Liste, always, me."
        found = DETECTING.document(text)
        assert Traits.STATES_WISH not in found.traits
        question = asked("Kannst du mir bitte ein Restaurant empfehlen?")
        assert not question.asks_help

    def test_texts_without_spaces_give_pairs_and_questions_leave_out_function_words(self) -> None:
        own = analyzer("chinese")
        assert own.terms("我的猫") == ["的猫"]  # without the function word 我的
        assert own.asked_words("我的猫什么时候看牙医？") == ["的猫", "猫什", "看牙", "牙医", "猫"]
        assert own.asked_words("什么") == ["什么"]  # rather than nothing
        assert own.document("看牙医" * 20).length == 20  # pairs count as the words that they are part of

    @each_row("definition", LANGUAGES.values(), ids=LANGUAGES)
    def test_the_definition_of_each_language_is_complete(self, definition: Language) -> None:
        assert len(definition.words) > 60
        if definition.has_spaces:
            assert set(definition.month_numbers.values()) == set(range(1, 13))
            assert len(definition.weekdays.split()) >= 7
        assert set(definition.weekday_numbers.values()) == set(range(7))
        assert len(definition.dates.units) == 7
        for pattern in (
            definition.tells_time,
            definition.tells_number,
            definition.day_and_month,
            definition.weekdays_named,
            definition.denial_of_change,
            definition.supposition,
            definition.change,
            definition.counts,
            *definition.questions.values(),
            *definition.seeking.values(),
        ):
            assert pattern.search("") is None

    @each_row("language", [each for each in LANGUAGES.values() if not each.has_spaces])
    def test_patterns_for_text_without_spaces_are_bounded(self, language: Language) -> None:
        """One that reads on without a bound, from every character, takes minutes for a long run of digits."""
        words = {**vars(language), **vars(language.dates), **language.dates.units}
        patterns = [value for name, value in words.items() if isinstance(value, str) and name != "asks"]
        assert not [pattern for pattern in patterns if re.search(r"[\])d.][+*]", pattern)]

    @each_row("language", LANGUAGES)
    def test_any_text_has_terms_within_bounds(self, language: str) -> None:
        own = analyzer(language)
        for text in ("", "'", "' '", "\u0130I\u0307", "a'" * 99, "१२", "猫'", "x" * 999, "什" * 999):
            document = own.document(text)
            assert document.length <= len(own.terms(text))
            assert all(term and count <= MAX_COUNT for term, count in document.counts.items())
            assert own.asked(text).others == {}


class TestQuestions:
    @each_row(
        ("query", "start", "days"),
        [
            ("Was war am 5. Juli 2023?", "2023-07-05", 1),
            ("Was war am 5.7.2023 bei uns?", "2023-07-05", 1),
            ("Qu'est-ce que j'ai fait le 1er mai 2023 ?", "2023-05-01", 1),
            ("¿Qué pasó el 5 de julio de 2023?", "2023-07-05", 1),
            ("O que foi no dia 5 de julho de 2023?", "2023-07-05", 1),
            ("Che cosa è successo il 5 luglio 2023?", "2023-07-05", 1),
            ("Wat was er op 5 juli 2023?", "2023-07-05", 1),
            ("Co się stało 5 lipca 2023?", "2023-07-05", 1),
            ("5 Temmuz 2023'te ne oldu, hangisi?", "2023-07-05", 1),
            ("Что было 5 июля 2023 года?", "2023-07-05", 1),
            ("ماذا حدث في 5 يوليو 2023؟", "2023-07-05", 1),
            ("5 जुलाई 2023 को क्या हुआ?", "2023-07-05", 1),
            ("2023年7月5日发生了什么？", "2023-07-05", 1),
            ("2023年7月5日に何がありましたか", "2023-07-05", 1),
            ("Was war im Juli 2023?", "2023-07-01", 31),
            ("¿Qué dije hace 3 días?", "2023-08-13", 1),
            ("O que fizemos duas semanas atrás?", "2023-07-30", 7),
            ("O que fizemos na segunda passada?", "2023-08-14", 1),
            ("Co robiliśmy tydzień temu?", "2023-08-06", 7),
            ("Что мы делали год назад?", "2022-02-15", 365),
            ("ماذا فعلنا قبل أسبوع؟", "2023-08-06", 7),
            ("ماذا فعلنا قبل يومين؟", "2023-08-14", 1),
            ("Was war am Dienstag letzter Woche?", "2023-08-08", 1),
            ("我上周一说了什么？", "2023-08-07", 1),
            ("先週の月曜日に何と言いましたか", "2023-08-07", 1),
            ("Was habe ich letzten Mittwoch gesagt?", "2023-08-09", 1),  # today is no past day
            ("Was war 2022 bei uns?", "2022-01-01", 365),
        ],
    )
    def test_dates_are_parsed(self, query: str, start: str, days: int) -> None:
        (period,) = asked(query).periods
        assert period.start == datetime.fromisoformat(start).replace(tzinfo=UTC)
        assert (period.end - period.start).days == days

    @each_row("language", RELATIVE)
    def test_dates_relative_to_today_are_parsed(self, language: str) -> None:
        expected = ("08-15 1", "08-07 7", "07-01 31", "01-01 365", "07-30 7", "08-14 1", "08-14 7", "08-01 31")
        for query, period in zip(RELATIVE[language], expected, strict=True):
            found = [f"{each.start:%m-%d} {(each.end - each.start).days}" for each in asked(query).periods]
            assert found == ([period] if query else []), query

    @each_row("query", ["ماذا فعلنا قبل يوم الجمعة؟", "Co było pięćdziesiąt lat temu?"])
    def test_what_only_looks_like_a_time_ago_is_none(self, query: str) -> None:
        assert asked(query).periods == ()

    def test_impossible_dates_are_left_out(self) -> None:
        assert asked("Was war am 31.6.2023 und am 99.99.2023 bei uns?").periods == (
            *asked("Was war 2023 bei uns?").periods,
            *asked("Was war 2023 bei uns?").periods,
        )
        assert asked("13月发生了什么？").periods == ()

    @each_row(
        ("query", "speaker"),
        [
            ("Когда был день рождения у Анны?", "анна"),
            ("Gdzie mieszka siostra Anny?", "anna"),
            ("Ayşe'nin doğum günü ne zaman?", "ayşe"),
            ("Wann ist Annas Geburtstag?", "anna"),
            ("Quel est l'anniversaire d'Anna ?", "anna"),
            ("Wanneer is Annas verjaardag?", "anna"),
            ("Quando è il compleanno d'Anna?", "anna"),
            ("¿Cuándo es el cumpleaños de Ana?", "ana"),
            ("Quando é o aniversário da Ana?", "ana"),
            ("متى عيد ميلاد سعيد؟", "سعيد"),
            ("आना का जन्मदिन कब है?", "आना"),
            ("安娜什么时候来？", "安娜"),
            ("田中さんはいつ来ますか", "田中"),
        ],
    )
    def test_declined_names_are_speakers_and_no_terms(self, query: str, speaker: str) -> None:
        question = asked(query, speaker)
        assert question.names == {speaker}
        assert not set(analyzer(DETECT).of(query).terms(speaker)) & set(question.terms)
        assert speaker not in question.text.casefold() or question.text == query

    def test_a_word_has_only_forms_of_its_language(self) -> None:
        assert name_forms("annas", LANGUAGES["german"]) == {"annas", "anna"}
        assert name_forms("annas", LANGUAGES["english"]) == {"annas"}
        assert name_forms("as", LANGUAGES["german"]) == {"as"}

    @each_row(
        "query",
        [
            "Vielen Dank!",
            "Gute Nacht",
            "Auf Wiedersehen",
            "merci beaucoup",
            "Bonne nuit, merci",
            "¡Buenos días!",
            "Muchas gracias",
            "Bom dia",
            "muito obrigado",
            "grazie mille",
            "Buonasera",
            "Dank je wel",
            "Goede morgen",
            "Dzień dobry",
            "dziękuję bardzo",
            "Teşekkür ederim",
            "Günaydın",
            "Спасибо большое",
            "Добрый день",
            "شكرا جزيلا",
            "السلام عليكم",
            "बहुत धन्यवाद",
            "谢谢你！",
            "早上好",
            "こんにちは",
            "ありがとうございます。",
        ],
    )
    def test_small_talk_is_recognized(self, query: str) -> None:
        assert asked(query).is_small_talk

    @each_row("query", ["dia", "mille", "большое", "السلام", "Danke für das Rezept", "谢谢卡", "こんにちはの意味"])
    def test_words_that_also_occur_in_small_talk_are_questions(self, query: str) -> None:
        assert not asked(query).is_small_talk


class TestOtherStems:
    def test_a_question_is_also_looked_up_in_english(self) -> None:
        question = asked("Wann kommen die Rechnungen?")
        assert question.asked.others == {"komm": ("kommen",), "rechnung": ("rechnungen",)}

    def test_a_word_alone_is_looked_up_in_the_languages_of_the_flow(self) -> None:
        assert asked("planes").asked.others == {}
        assert asked("planes", spoken=("es",)).asked.others == {"plane": ("plan",)}

    def test_a_question_in_english_is_looked_up_in_english_alone(self) -> None:
        def fail() -> tuple[str, ...]:
            raise AssertionError("an English question must not read the flow's languages")

        assert parse("Where are the planes?", language=DETECT, speakers=(), now=NOW, spoken=fail).asked.others == {}


class TestLabels:
    @each_row(
        ("known", "other", "code", "expected"),
        [
            ("detect 5", "detect 5", "", "detect 5"),
            ("detect 5", "detect 5", "de", "detect 5 de"),
            ("detect 5 de", "detect 5", "fr", "detect 5 de fr"),
            ("english 5", "english 5", "", "english 5"),
            ("english 5", "detect 5", "de", None),
            ("english 5", "german 5", "", None),
            ("detect de", "detect 5", "de", None),
            ("german 5", "german 33", "", None),
            (None, "detect 5", "", None),
        ],
    )
    def test_labels_are_joined(self, known: str | None, other: str, code: str, expected: str | None) -> None:
        assert index.joined_label(known, other, code) == expected

    def test_a_label_fits_its_column(self) -> None:
        label: str | None = "detect 5"
        for language in LATIN:
            label = index.joined_label(label, "detect 5", language.code)
        assert label is not None
        assert len(label) <= index.MAX_LABEL_CHARS
        assert index.label_languages(label) <= {language.code for language in LATIN}

    def test_only_a_label_of_this_revision_is_of_the_analyzer(self) -> None:
        of_old = ["english", "german 2", "detect", "detect de", "english detect de"]
        assert [
            label for label in of_old if any(index.is_indexed_by(label, analyzer(name).label) for name in ALL)
        ] == []
        assert index.is_indexed_by("detect 7 de", DETECTING.label)
