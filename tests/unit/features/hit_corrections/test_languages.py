# ruff: noqa: RUF001 - the texts are in many languages
"""Corrections in all languages but English, which test_pairs has: which later statements give another value for the
same thing, and which do not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from harness.rows import each_row

from memorybase.core.keyword_index.analyzer import DETECT, analyzer
from memorybase.core.keyword_index.languages import LANGUAGES
from memorybase.core.search.corrections import Kind
from memorybase.core.search.query_parser import parse
from memorybase.features.hit_corrections import pairs
from memorybase.features.hit_corrections.pairs import Correction, Said, sought_by
from memorybase.features.hit_corrections.statements import Value, statements

KINDS: tuple[Kind, ...] = ("number", "date", "time", "percent")
START = datetime(2024, 3, 1, 9, tzinfo=UTC)
ALIKE = 0.5  # enough where the later statement tells a change, and not where it does not


@dataclass(frozen=True)
class Told:
    """What a user says in one language about an amount and about a date, with turns about other things between them.

    `other` is a change of something else.
    """

    amount: str
    amount_later: str
    how_many: str
    amounts: tuple[str, str]
    between: tuple[str, str]
    date: str
    date_later: str
    when: str
    dates: tuple[str, str]
    other: str
    repeated: str  # the first date again, in other words


TOLD = {
    "german": Told(
        "Unser Budget für die Feier liegt bei 1.500 Euro.",
        "Das Budget für die Feier wurde auf 1.800,50 Euro erhöht.",
        "Wie hoch ist das Budget für die Feier?",
        ("1.500 Euro", "1.800,50 Euro"),
        ("Die Katze schläft heute auf dem Sofa.", "Ich habe mir gestern ein Fahrrad gekauft."),
        "Die Prüfung in Chemie ist am 17. Oktober.",
        "Die Prüfung in Chemie wurde verschoben, sie ist nun am 24.10.2024.",
        "Wann ist die Prüfung in Chemie?",
        ("17. Oktober", "24.10.2024"),
        "Für die Feier brauche ich jetzt 12 Stühle.",
        "Die Prüfung in Chemie ist jetzt in Raum 3, am 17. Oktober 2024.",
    ),
    "french": Told(
        "Notre budget pour la fête est de 1 500 euros.",
        "Le budget pour la fête a été augmenté à 1 800,50 euros.",
        "Combien avons-nous comme budget pour la fête ?",
        ("1 500 euros", "1 800,50 euros"),
        ("Le chat dort sur le canapé depuis ce matin.", "J'ai acheté un vélo hier pour aller au travail."),
        "L'examen de chimie est le 17 octobre.",
        "L'examen de chimie a été reporté, il est maintenant le 24 octobre.",
        "Quand est l'examen de chimie ?",
        ("17 octobre", "24 octobre"),
        "Pour la fête il me faut maintenant 12 chaises.",
        "L'examen de chimie est maintenant en salle 3, le 17/10/2024.",
    ),
    "spanish": Told(
        "El presupuesto para la fiesta es de 1.500 euros.",
        "El presupuesto para la fiesta ha subido a 1.800,50 euros.",
        "¿Cuánto es el presupuesto para la fiesta?",
        ("1.500 euros", "1.800,50 euros"),
        ("El gato duerme en el sofá.", "Ayer compré una bicicleta para ir al trabajo."),
        "El examen de química es el 17 de octubre.",
        "El examen de química se ha aplazado, ahora es el 24 de octubre.",
        "¿Cuándo es el examen de química?",
        ("17 de octubre", "24 de octubre"),
        "Para la fiesta necesito ahora 12 sillas.",
        "El examen de química es ahora en el aula 3, el 17/10/2024.",
    ),
    "portuguese": Told(
        "O orçamento para a festa é de 1.500 reais.",
        "O orçamento para a festa aumentou, agora é de 1.800,50 reais.",
        "Quanto é o orçamento para a festa?",
        ("1.500 reais", "1.800,50 reais"),
        ("O gato dorme no sofá.", "Ontem comprei uma bicicleta para ir ao trabalho."),
        "A prova de química é no dia 17 de outubro.",
        "A prova de química foi adiada para 24 de outubro.",
        "Quando é a prova de química?",
        ("17 de outubro", "24 de outubro"),
        "Para a festa preciso agora de 12 cadeiras.",
        "A prova de química é agora na sala 3, no dia 17/10/2024.",
    ),
    "italian": Told(
        "Il budget per la festa è di 1.500 euro.",
        "Il budget per la festa è stato aumentato a 1.800,50 euro.",
        "Quanto è il budget per la festa?",
        ("1.500 euro", "1.800,50 euro"),
        ("Il gatto dorme sul divano.", "Ieri ho comprato una bicicletta per andare al lavoro."),
        "L'esame di chimica è il 17 ottobre.",
        "L'esame di chimica è stato rimandato, adesso è il 24 ottobre.",
        "Quando è l'esame di chimica?",
        ("17 ottobre", "24 ottobre"),
        "Per la festa adesso mi servono 12 sedie.",
        "L'esame di chimica adesso è in aula 3, il 17/10/2024.",
    ),
    "dutch": Told(
        "Ons budget voor het feest is 1.500 euro.",
        "Het budget voor het feest is verhoogd naar 1.800,50 euro.",
        "Hoe hoog is het budget voor het feest?",
        ("1.500 euro", "1.800,50 euro"),
        ("De kat slaapt vandaag op de bank.", "Ik heb gisteren een fiets gekocht."),
        "Het examen scheikunde is op 17 oktober.",
        "Het examen scheikunde is verplaatst, het is nu op 24 oktober.",
        "Wanneer is het examen scheikunde?",
        ("17 oktober", "24 oktober"),
        "Voor het feest heb ik nu 12 stoelen nodig.",
        "Het examen scheikunde is nu in zaal 3, op 17-10-2024.",
    ),
    "polish": Told(
        "Nasz budżet na imprezę to 1500 złotych.",
        "Budżet na imprezę został zwiększony do 1 800,50 złotych.",
        "Ile wynosi budżet na imprezę?",
        ("1500 złotych", "1 800,50 złotych"),
        ("Kot śpi dzisiaj na kanapie.", "Wczoraj kupiłem rower, żeby jeździć do pracy."),
        "Egzamin z chemii jest 17 października.",
        "Egzamin z chemii został przełożony na 24 października.",
        "Kiedy jest egzamin z chemii?",
        ("17 października", "24 października"),
        "Na imprezę potrzebuję teraz 12 krzeseł.",
        "Egzamin z chemii jest teraz w sali 3, ale dalej 17.10.2024.",
    ),
    "russian": Told(
        "Наш бюджет на праздник составляет 1500 рублей.",
        "Бюджет на праздник увеличили до 1 800,50 рублей.",
        "Сколько составляет бюджет на праздник?",
        ("1500 рублей", "1 800,50 рублей"),
        ("Кошка сегодня спит на диване.", "Вчера я купил велосипед, чтобы ездить на работу."),
        "Экзамен по химии будет 17 октября.",
        "Экзамен по химии перенесли, теперь он 24 октября.",
        "Когда экзамен по химии?",
        ("17 октября", "24 октября"),
        "На праздник теперь нужно 12 стульев.",
        "Экзамен по химии теперь в аудитории 3, как и было, 17.10.2024.",
    ),
    "turkish": Told(
        "Parti için bütçemiz 1.500 lira.",
        "Parti için bütçe artırıldı, artık 1.800,50 lira.",
        "Parti için bütçe ne kadar?",
        ("1.500 lira", "1.800,50 lira"),
        ("Kedi bugün kanepede uyuyor.", "Dün işe gitmek için bir bisiklet aldım."),
        "Kimya sınavı 17 Ekim'de olacak.",
        "Kimya sınavı ertelendi, artık 24 Ekim'de.",
        "Kimya sınavı ne zaman?",
        ("17 Ekim", "24 Ekim"),
        "Parti için artık 12 sandalye lazım.",
        "Kimya sınavı artık 3 numaralı salonda, 17.10.2024 günü.",
    ),
    "arabic": Told(
        "ميزانية الحفلة هي 1500 دينار.",
        "تم رفع ميزانية الحفلة إلى ١٨٠٠ دينار.",
        "كم ميزانية الحفلة؟",
        ("1500 دينار", "١٨٠٠ دينار"),
        ("القطة تنام على الأريكة.", "اشتريت أمس دراجة للذهاب إلى العمل."),
        "امتحان الكيمياء يوم 17 أكتوبر.",
        "تم تأجيل امتحان الكيمياء إلى 24 أكتوبر.",
        "متى امتحان الكيمياء؟",
        ("17 أكتوبر", "24 أكتوبر"),
        "الآن أحتاج إلى 12 كرسيا للحفلة.",
        "امتحان الكيمياء الآن في القاعة 3، يوم ١٧ أكتوبر 2024.",
    ),
    "hindi": Told(
        "पार्टी का बजट 1,50,000 रुपये है।",
        "पार्टी का बजट बढ़ाकर 1,80,000 रुपये कर दिया गया है।",
        "पार्टी का बजट कितना है?",
        ("1,50,000 रुपये", "1,80,000 रुपये"),
        ("बिल्ली सोफे पर सो रही है।", "मैंने कल काम पर जाने के लिए साइकिल खरीदी।"),
        "रसायन विज्ञान की परीक्षा 17 अक्टूबर को है।",
        "रसायन विज्ञान की परीक्षा टल गई है, अब 24 अक्टूबर को होगी।",
        "रसायन विज्ञान की परीक्षा कब है?",
        ("17 अक्टूबर", "24 अक्टूबर"),
        "पार्टी के लिए अब मुझे 12 कुर्सियाँ चाहिए।",
        "रसायन विज्ञान की परीक्षा अब कमरा 3 में है, 17/10/2024 को।",
    ),
    "chinese": Told(
        "我们聚会的预算是1,500元。",
        "聚会的预算现在提高到1,800.50元了。",
        "聚会的预算是多少？",
        ("1,500元", "1,800.50元"),
        ("猫今天在沙发上睡觉。", "我昨天买了一辆自行车。"),
        "化学考试在10月17日。",
        "化学考试推迟了，改到10月24号。",
        "化学考试是什么时候？",
        ("10月17日", "10月24号"),
        "聚会现在需要12把椅子，买了12张桌子。",
        "化学考试现在改在3号楼，还是2024年10月17日。",
    ),
    "japanese": Told(
        "パーティーの予算は1,500円です。",
        "パーティーの予算は1,800円に増えました。",
        "パーティーの予算はいくらですか？",
        ("1,500円", "1,800円"),
        ("猫は今日ソファで寝ています。", "昨日、通勤用に自転車を買いました。"),
        "化学の試験は10月17日です。",
        "化学の試験は延期されて、10月24日になりました。",
        "化学の試験はいつですか？",
        ("10月17日", "10月24日"),
        "パーティーには今は椅子が12個必要です。",
        "化学の試験は今は3番教室で、2024年10月17日です。",
    ),
}


def found(query: str, *texts: str, likeness: float = ALIKE) -> list[Correction]:
    """The corrections among these messages of one speaker, each a day after the one before."""
    own = analyzer(DETECT).of(query)
    messages = [Said("anna", (START + timedelta(days=day), day), text) for day, text in enumerate(texts)]
    sought = sought_by(query, analyzer(DETECT))
    stated = pairs.stated(messages, query, sought, own) if sought else []
    return pairs.find(messages, stated, query, lambda _one, _other: likeness, own)


def test_every_language_has_statements() -> None:
    assert {"english", *TOLD} == LANGUAGES.keys()


@each_row("language", TOLD)
class TestStatements:
    def test_questions_show_their_language(self, language: str) -> None:
        told = TOLD[language]
        assert {analyzer(DETECT).of(query).language for query in (told.how_many, told.when)} == {language}

    def test_a_later_amount_corrects_an_earlier_one(self, language: str) -> None:
        told = TOLD[language]
        expected = Correction(0, 3, "number", *told.amounts)
        assert found(told.how_many, told.amount, *told.between, told.amount_later) == [expected]

    def test_a_later_date_corrects_an_earlier_one(self, language: str) -> None:
        told = TOLD[language]
        expected = Correction(0, 3, "date", *told.dates)
        assert found(told.when, told.date, *told.between, told.date_later) == [expected]

    def test_a_change_of_something_else_corrects_nothing(self, language: str) -> None:
        told = TOLD[language]
        assert found(told.how_many, told.amount, *told.between, told.other) == []

    def test_the_same_date_in_other_words_corrects_nothing(self, language: str) -> None:
        told = TOLD[language]
        assert found(told.when, told.date, *told.between, told.repeated) == []

    def test_without_words_for_a_change_two_statements_must_be_more_alike(self, language: str) -> None:
        told = TOLD[language]
        earlier = told.date.replace(told.dates[0], told.dates[1])
        assert found(told.when, told.date, earlier) == []
        assert found(told.when, told.date, earlier, likeness=0.7) == [Correction(0, 1, "date", *told.dates)]


NOW = datetime(2024, 6, 1, tzinfo=UTC)


def sequence_asked(query: str) -> tuple[bool, bool, bool]:
    question = parse(query, language=DETECT, speakers=(), now=NOW)
    return question.asks_first, question.asks_latest, question.asks_order


@each_row(
    "query",
    [
        "Wann habe ich meinen ersten Entwurf abgegeben?",
        "Quelle est ma dernière étape pour le dossier ?",
        "¿Cuándo empieza mi primera semana en la oficina?",
        "Was war das erste Mal am 5. Juli 2023?",  # the date says when
    ],
)
def test_parts_of_a_series_and_dates_are_no_order_in_time(query: str) -> None:
    assert sequence_asked(query) == (False, False, False)


def values_of(language: str, text: str) -> list[Value]:
    return [value for each in statements(text, analyzer(language), KINDS) for value in each.values]


@each_row(
    ("language", "text", "kind", "same"),
    [
        ("german", "Das Treffen ist um 14 Uhr.", "time", "Das Treffen ist um 14:00."),
        ("french", "Rendez-vous à 15 h 30.", "time", "Rendez-vous : 15h30."),
        ("spanish", "La cena es a las 9.", "time", "La cena es a las 21:00."),
        ("portuguese", "A reunião é às 15h.", "time", "A reunião é às 15:00."),
        ("italian", "La riunione è alle 15.", "time", "La riunione è alle 15:00."),
        ("dutch", "De vergadering is om 15 uur.", "time", "De vergadering is om 15:00."),
        ("polish", "Spotkanie jest o godzinie 15.", "time", "Spotkanie jest o 15:00."),
        ("russian", "Встреча в 15 часов.", "time", "Встреча в 15:00."),
        ("turkish", "Toplantı saat 15.30'da.", "time", "Toplantı 15:30 gibi."),
        ("arabic", "الاجتماع الساعة 3 مساء.", "time", "الاجتماع الساعة ٣ مساء."),
        ("hindi", "बैठक 3 बजे है।", "time", "बैठक 3:00 को है।"),
        ("chinese", "会议在下午三点半。", "time", "会议在15:30。"),
        ("japanese", "会議は午後三時です。", "time", "会議は15時です。"),
        ("german", "Der Rabatt beträgt 12,50 %.", "percent", "Der Rabatt beträgt 12,5 Prozent."),
        ("french", "La remise est de 20 pour cent.", "percent", "La remise est de 20 %."),
        ("turkish", "İndirim %20 oldu.", "percent", "İndirim yüzde 20 oldu."),
        ("arabic", "الخصم 20 بالمئة.", "percent", "الخصم ٢٠٪."),
        ("chinese", "折扣是百分之二十。", "percent", "折扣是20%。"),
        ("german", "Die Abgabe ist am 17.", "date", "Die Abgabe ist zum 17."),
        ("german", "Das Seminar ist samstags.", "date", "Das Seminar ist am Samstag."),
        ("polish", "Trening jest w środę.", "date", "Trening przełożono ze środy."),
        ("russian", "Урок в пятницу.", "date", "Урок перенесли с пятницы."),
        ("turkish", "Ders perşembe günü.", "date", "Ders perşembeye alındı."),
        ("german", "Ich habe drei Katzen.", "number", "Ich habe 3 Katzen."),
        ("chinese", "我有三只猫。", "number", "我有3只猫。"),
        ("chinese", "预算是三百元。", "number", "预算是300元。"),
        ("chinese", "预算是1.5万元。", "number", "预算是15,000元。"),
        ("japanese", "家賃は十二万円です。", "number", "家賃は120000円です。"),
        ("french", "Le loyer est de 1 250,00 euros.", "number", "Le loyer est de 1250 euros."),
        ("arabic", "الراتب ٣٬٥٠٠ دينار.", "number", "الراتب 3500 دينار."),
    ],
)
def test_the_same_value_has_the_same_key(language: str, text: str, kind: Kind, same: str) -> None:
    (one,), (other,) = values_of(language, text), values_of(language, same)
    assert (one.kind, one.key) == (kind, other.key)
    assert other.kind == kind


@each_row(
    ("language", "text"),
    [
        ("german", "Letzten Montag war ich im Kino."),
        ("french", "Je suis parti mardi dernier."),
        ("chinese", "我上周一去了医院。"),
        ("german", "Wir nutzen Version 3.11.2 seit 2023."),
        ("german", "Der 3. Versuch war gut."),
        ("portuguese", "Esta é a segunda versão."),
        ("italian", "Sei sicuro?"),
        ("turkish", "Ayşe elmayı yedi."),
        ("chinese", "这是第三章，十分有趣，我们一起看。"),
        ("japanese", "これは第3です。"),
        ("german", "Siehe 13/45 und 99.99.2024 sowie 45:99."),
    ],
)
def test_past_days_ordinals_versions_and_homographs_are_no_values(language: str, text: str) -> None:
    assert values_of(language, text) == []


@each_row(
    ("language", "text"),
    [
        ("german", "Ich schlafe nicht mehr als 5 Stunden."),
        ("german", "Das ist doch klar, 5 Stunden."),
        ("french", "Il a de nouveau 5 euros."),
        ("french", "Je ne paie pas plus de 5 euros."),
        ("spanish", "De nuevo son 5 euros."),
        ("portuguese", "Não pago mais de 5 reais."),
        ("italian", "Ci vuole un'ora e 5 minuti."),
        ("italian", "Perde di nuovo acqua, 5 litri."),
        ("dutch", "Ik betaal niet meer dan 5 euro."),
        ("turkish", "Dün 5 kişi tek tek çıktı."),
        ("russian", "Упал и сломал 5 тарелок."),
        ("turkish", "Dün 5 kişi dışarı çıktık."),
        ("hindi", "खाना बढ़िया था, 5 लोग थे।"),
        ("chinese", "请提前5天告诉我。"),
        ("japanese", "全部で5人になりますね。"),
    ],
)
def test_words_like_those_for_a_change_tell_none(language: str, text: str) -> None:
    assert [each.tells_change for each in statements(text, analyzer(language), KINDS)] == [False]


@each_row(
    ("language", "text"),
    [
        ("german", "Ich arbeite 8 Stunden am Tag."),
        ("french", "Je travaille 8 heures par jour."),
        ("spanish", "Trabajo 8 horas al día."),
        ("portuguese", "Trabalho 8 horas por dia."),
        ("italian", "Lavoro 8 ore al giorno."),
        ("dutch", "Ik werk 8 uur per dag."),
        ("polish", "Pracuję 8 godzin dziennie."),
        ("russian", "Я работаю 8 часов в день."),
        ("turkish", "Günde 8 saat çalışıyorum."),
        ("arabic", "أعمل 8 ساعات في اليوم."),
        ("hindi", "मैं रोज़ 8 घंटे काम करता हूँ।"),
        ("chinese", "我每天工作8小时。"),
        ("japanese", "一日8時間働きます。"),
        ("japanese", "完成まで8日かかります。"),
        ("spanish", "Las entradas llegaron a las 8 personas."),
        ("italian", "Ho scritto alle 8 persone."),
    ],
)
def test_durations_and_counts_are_numbers_and_no_times(language: str, text: str) -> None:
    assert [value.kind for value in values_of(language, text)] == ["number"]


@each_row("apostrophe", ["'", "\u2019"])
def test_apostrophes_are_written_in_two_ways(apostrophe: str) -> None:
    (statement,) = statements(f"Je n{apostrophe}ai plus que 5 euros.", analyzer("french"), KINDS)
    assert statement.tells_change is False  # no more than: it needs no change
    (statement,) = statements(f"Ce n{apostrophe}est plus 5 euros.", analyzer("french"), KINDS)
    assert statement.tells_change is True


def test_a_long_message_keeps_its_dates_whole() -> None:
    text = "Ich habe lange mit Anna über alles gesprochen. " * 3 + "Die Prüfung ist am 17. Oktober um 9 Uhr. Bis bald."
    assert [(value.kind, value.shown) for value in values_of("german", text)] == [
        ("date", "17. Oktober"),
        ("time", "9 Uhr"),
    ]


def test_values_are_shown_as_written_where_folding_changes_the_length() -> None:
    assert [value.shown for value in values_of("german", "Die große Straße ist 1.500 Meter lang.")] == ["1.500"]
    assert [value.shown for value in values_of("arabic", "مَوْعِدُ الاِمْتِحان 17 أُكْتوبر.")] == ["17 أُكْتوبر"]


def test_a_day_without_its_month_may_be_the_same_day() -> None:
    query = "Wann ist die Prüfung in Chemie?"
    dated, day = "Die Prüfung in Chemie ist am 17. Oktober.", "Die Prüfung in Chemie ist nun am 17., in Raum B."
    assert found(query, dated, day) == []
    assert found(query, day, dated.replace("ist", "ist jetzt")) == []
    (moved,) = found(query, dated, day.replace("17", "24"))
    assert (moved.was, moved.now) == ("17. Oktober", "am 24.")


@each_row(
    ("query", "older", "newer", "was", "now"),
    [
        (
            "Wie viele {} habe ich?",
            "Für die Bücher habe ich 4 Lampen.",
            "Für die Bücher habe ich jetzt 6 Lampen.",
            "4 Lampen",
            "6 Lampen",
        ),
        (
            "¿Cuántas {} tengo?",
            "Para los libros tengo 4 lámparas.",
            "Para los libros tengo ahora 6 lámparas.",
            "4 lámparas",
            "6 lámparas",
        ),
        (
            "Hoeveel {} heb ik?",
            "Voor de boeken heb ik 4 lampen.",
            "Voor de boeken heb ik nu 6 lampen.",
            "4 lampen",
            "6 lampen",
        ),
    ],
)
def test_what_is_counted_must_be_counted_by_the_value(query: str, older: str, newer: str, was: str, now: str) -> None:
    book, lamp = older.split()[2], was.split()[1]
    assert found(query.format(book.rstrip(".")), older, newer) == []
    assert found(query.format(lamp), older, newer) == [Correction(0, 1, "number", was, now)]


@each_row(
    ("language", "text", "inside", "outside"),
    [
        ("german", "Das Budget ist 300 Euro und die Feier dauert lange.", "budg", "fei"),
        ("french", "Le budget est de 300 euros, mais la fête dure longtemps.", "budget", "fêt"),
        ("russian", "Бюджет 300 рублей и праздник будет долгим.", "бюджет", "праздник"),
        ("chinese", "我的预算是300元，聚会很长。", "预算", "聚会"),
        ("japanese", "予算は300円です。試験は長いです。", "予算", "試験"),
    ],
)
def test_a_value_has_the_terms_of_its_clause(language: str, text: str, inside: str, outside: str) -> None:
    (value,) = values_of(language, text)
    assert inside in value.clause
    assert outside not in value.clause


def test_sentences_without_spaces_are_told_apart_at_fewer_characters() -> None:
    text = "我们昨天在公司附近的餐厅讨论了聚会的预算是三百元。" + "以前的安排大家都觉得很好。" * 3 + "人数是20人。"
    found_in = statements(text, analyzer("chinese"), KINDS)
    assert [[value.shown for value in each.values] for each in found_in] == [["三百元"], ["20人"]]
    assert len(text) < 120


@each_row(
    ("language", "query"),
    [
        ("german", "Was ist unser Budget für die Feier?"),
        ("french", "Quel est notre budget pour la fête ?"),
        ("spanish", "¿Cuál es el presupuesto para la fiesta?"),
        ("portuguese", "Qual é o orçamento para a festa?"),
        ("italian", "Qual è il budget per la festa?"),
        ("dutch", "Wat is het budget voor het feest?"),
        ("polish", "Jaki jest nasz budżet na imprezę?"),
        ("russian", "Какой у нас бюджет на праздник?"),
        ("turkish", "Parti için bütçemiz nedir?"),
        ("arabic", "ما هي ميزانية الحفلة؟"),
        ("hindi", "पार्टी का बजट क्या है?"),
        ("chinese", "聚会的预算是什么？"),
        ("japanese", "パーティーの予算は何ですか？"),
    ],
)
def test_a_question_for_a_value_without_a_word_for_numbers_is_read(language: str, query: str) -> None:
    told = TOLD[language]
    (correction,) = found(query, told.amount, told.amount_later)
    assert (correction.was, correction.now) == told.amounts


@each_row(
    ("language", "text"),
    [
        ("german", "Vielleicht ist das nicht klar. Die Feier kostet 1.800 Euro."),
        ("french", "N'oublie pas que les frais sont de 1 800 euros."),
        ("spanish", "La librería de María está en el número 18."),
        ("portuguese", "A prova se realizará no dia 24 de outubro."),
        ("dutch", "Ik werk als kok en verdien 1.800 euro."),
        ("turkish", "Sınav artık 24 Ekim cumadır, kursa ve derse 18 kişi geliyor."),
        ("chinese", "我差不多付1800元。"),
        ("japanese", "忘れないで、試験は24日です。"),
    ],
)
def test_words_like_those_of_denials_and_suppositions_are_none(language: str, text: str) -> None:
    assert all(value.asserted for value in values_of(language, text))
    assert values_of(language, text)


@pytest.mark.slow
@each_row("language", LANGUAGES)
def test_any_text_is_read_in_linear_time(language: str) -> None:
    """Long runs of digits, words and separators: a pattern that backtracks would take minutes."""
    own = analyzer(language)
    runs = ("1", "1.", "1 000 ", "1年", "第1", "%", "n", "ne ", "von 1 ", "十", "न", "\u0130", "- ", "12:")
    for text in (run * (4_000 // len(run)) for run in runs):
        assert len(statements(text, own, KINDS)) <= 30
        sought_by(text, own)
