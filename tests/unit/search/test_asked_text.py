# ruff: noqa: RUF001 - the mails are in many languages
"""What is asked inside of a longer text, in every language that keyword search knows."""

from __future__ import annotations

from collections.abc import Sequence

from harness.rows import each_row

from memorybase.core.caveats import MAX_QUERY_CHARS
from memorybase.core.search.asked_text import MOST_QUESTIONS, searches_of

LOG = "ERROR 42 at line 7.\n" * 600


@each_row(
    ("mail", "question"),
    [
        ("Hello Ada, I hope you are well. We met at the harbour. {} Best regards, Tom.", "Where is the boat moored?"),
        ("Hallo Ada, ich hoffe, es geht dir gut. Wir waren am Hafen. {} Viele Grüße, Tom.", "Wo liegt das Boot?"),
        ("Bonjour Ada, tout va bien. Nous étions au port. {} Bien à toi, Tom.", "Où est amarré le bateau ?"),
        ("Hola Ada, todo va bien. Estuvimos en el puerto. {} Saludos, Tom.", "¿Dónde está el barco?"),
        ("Olá Ada, está tudo bem. Estivemos no porto. {} Cumprimentos, Tom.", "Onde está o barco?"),
        ("Ciao Ada, va tutto bene. Eravamo al porto. {} Saluti, Tom.", "Dove si trova la barca?"),
        ("Hallo Ada, alles gaat goed. We waren in de haven. {} Groeten, Tom.", "Waar ligt de boot?"),
        ("Cześć Ada, wszystko w porządku. Byliśmy w porcie. {} Pozdrawiam, Tom.", "Gdzie stoi łódź?"),
        ("Merhaba Ada, her şey yolunda. Limandaydık. {} Selamlar, Tom.", "Tekne nerede duruyor?"),
        ("Привет, Ада, у нас всё хорошо. Мы были в порту. {} С уважением, Том.", "Где стоит лодка?"),
        ("مرحبا آدا، كل شيء على ما يرام. كنا في الميناء. {} تحياتي، توم.", "أين يرسو القارب؟"),
        ("नमस्ते एडा, सब ठीक है। हम बंदरगाह पर थे। {} धन्यवाद, टॉम।", "नाव कहाँ है?"),
        ("你好，艾达，一切都好。我们去过港口。{}祝好，汤姆。", "船停在哪里？"),
        ("こんにちは、エイダさん。港に行きました。{}よろしくお願いします。", "船はどこに泊まっていますか？"),
    ],
)
def test_a_question_inside_of_a_mail_is_read_out_of_it(mail: str, question: str) -> None:
    whole = mail.format(question)
    alone, with_sentence_before, last = searches_of(whole, "detect")
    assert (alone, last) == (question, whole)
    assert with_sentence_before.endswith(question)
    assert len(question) < len(with_sentence_before) < len(whole)


@each_row(
    ("query", "asked"),
    [
        ("Where is the boat?", "Where is the boat?"),
        ("boat berth", "boat berth"),
        ("hi", "hi"),
        ("Thanks a lot! Bye.", "Thanks a lot! Bye."),  # asks for nothing, so the whole stands for itself
        ("Hi Ada! Thanks. Where is the boat? Thanks again!", "Where is the boat?"),
        ("How are you? Where is the boat?", "Where is the boat?"),
        ("Tell me where the boat is. Thanks.", "Tell me where the boat is."),
        ("My printer blinks. The cable is new.", "The cable is new."),  # none asks: the last that says something
        ("Why does it fail?\n" + LOG, "Why does it fail?"),
        (LOG + "Why does it fail?", "Why does it fail?"),
        ("What do you know about my boat?", "my boat"),  # the topic alone
        ("Hi Ada! What do you know about my boat? Thanks!", "my boat"),
        ("What did you say about my boat?", "What did you say about my boat?"),
    ],
)
def test_what_asks_is_told_from_what_stands_around_it(query: str, asked: str) -> None:
    found = searches_of(query, "english")
    assert found[0] == asked
    assert all(len(each) <= MAX_QUERY_CHARS for each in found)


@each_row("query", ["Where is the boat?", "hi", "thanks. bye.", "boat"])
def test_a_query_that_is_its_own_question_is_one_search(query: str) -> None:
    assert searches_of(query, "english") == (query,)


def test_of_many_questions_the_first_and_the_last_ones_are_searched() -> None:
    questions: Sequence[str] = [f"Who has berth {number}?" for number in range(9)]
    whole = " ".join(questions)
    asked = (questions[0], *questions[1 - MOST_QUESTIONS :])
    assert searches_of(whole, "english") == (*asked, " ".join(questions[-2:]), whole)
