# ruff: noqa: RUF001 - the questions are in all languages
"""Which questions ask for everything that is known of the person who asks: in every language of the product."""

from __future__ import annotations

from memorybase.core.keyword_index.languages import LANGUAGES
from memorybase.core.search.about_person import asks_about_area, asks_about_person, topic_of
from tests.harness.rows import each_row

ASK = {
    "english": (
        "What do you know about me?",
        "what are my preferences?",
        "tell me about myself",
        "What should you remember about me?",
        "Who am I?",
        "my profile",
        "Hi again! Can you tell me everything you remember about me so far?",
        "what have you learned about me",
        "Which information do you have stored about me?",
        "How would you describe me?",
    ),
    "german": (
        "Was weißt du über mich?",
        "Was wissen Sie alles über mich?",
        "Wer bin ich?",
        "Erzähl mir etwas über mich",
        "Was sind meine Vorlieben?",
    ),
    "french": (
        "Que sais-tu de moi ?",
        "Qu'est-ce que tu sais sur moi ?",
        "Que savez-vous à mon sujet ?",
        "Qui suis-je ?",
        "Parle-moi de moi",
    ),
    "spanish": (
        "¿Qué sabes de mí?",
        "¿Qué sabes sobre mí?",
        "¿Quién soy?",
        "Háblame de mí",
        "¿Cuáles son mis preferencias?",
    ),
    "portuguese": (
        "O que você sabe sobre mim?",
        "O que sabes de mim?",
        "Quem sou eu?",
        "Fala-me de mim",
        "Quais são as minhas preferências?",
    ),
    "italian": (
        "Cosa sai di me?",
        "Che cosa sai su di me?",
        "Chi sono?",
        "Parlami di me",
        "Quali sono le mie preferenze?",
    ),
    "dutch": (
        "Wat weet je over mij?",
        "Wat weet u van mij?",
        "Wie ben ik?",
        "Vertel me iets over mezelf",
        "Wat zijn mijn voorkeuren?",
    ),
    "polish": (
        "Co o mnie wiesz?",
        "Co wiesz o mnie?",
        "Kim jestem?",
        "Opowiedz mi o mnie",
        "Jakie są moje preferencje?",
    ),
    "russian": (
        "Что ты знаешь обо мне?",
        "Что вы обо мне знаете?",
        "Кто я?",
        "Расскажи мне обо мне",
        "Какие у меня предпочтения?",
    ),
    "turkish": (
        "Hakkımda ne biliyorsun?",
        "Benim hakkımda neler biliyorsunuz?",
        "Ben kimim?",
        "Bana kendimden bahset",
        "Tercihlerim neler?",
    ),
    "arabic": (
        "ماذا تعرف عني؟",
        "ما الذي تعرفه عني؟",
        "من أنا؟",
        "أخبرني عن نفسي",
        "ما هي تفضيلاتي؟",
    ),
    "hindi": (
        "तुम मेरे बारे में क्या जानते हो?",
        "आप मेरे बारे में क्या जानते हैं?",
        "मैं कौन हूँ?",
        "मुझे मेरे बारे में बताओ",
        "मेरी पसंद क्या है?",
    ),
    "chinese": (
        "你知道我的什么？",
        "关于我你知道些什么？",
        "你对我了解多少？",
        "我是谁？",
        "跟我说说我自己",
    ),
    "japanese": (
        "私について何を知っていますか？",
        "私のことをどれくらい知ってる？",
        "私は誰ですか？",
        "私について教えて",
        "私の好みは何ですか？",
    ),
}

ASK_SOMETHING_ELSE = {
    "english": (
        "what do you know about my coffee?",
        "What do you know about Berlin?",
        "who am I meeting on Friday?",
        "What are my preferences for the flight to Oslo?",
        "what are my food preferences?",
        "tell me about my sister",
        "What did Anna say about me?",
        "What is the profile of the beam?",
        "Do you remember me telling you the code?",
        "Describe me the way to the station",
    ),
    "german": (
        "Was weißt du über meinen Kaffee?",
        "Was weißt du über Berlin?",
        "Wer bin ich laut Vertrag, Mieter oder Vermieter?",
        "Erzähl mir etwas über Mozart",
        "Was hat Anna über mich gesagt?",
    ),
    "french": (
        "Que sais-tu de mon café ?",
        "Que sais-tu de Paris ?",
        "Qui suis-je censé appeler ?",
        "Parle-moi de ma sœur",
        "Qu'a dit Anne de moi ?",
    ),
    "spanish": (
        "¿Qué sabes de mi café?",
        "¿Qué sabes de Madrid?",
        "¿Quién soy en el contrato, inquilina o dueña?",
        "Háblame de mi hermana",
        "¿Qué dijo Ana de mí?",
    ),
    "portuguese": (
        "O que você sabe sobre o meu café?",
        "O que sabes de Lisboa?",
        "Quem sou eu no contrato?",
        "Fala-me da minha irmã",
        "O que a Ana disse de mim?",
    ),
    "italian": (
        "Cosa sai del mio caffè?",
        "Cosa sai di Roma?",
        "Chi sono i miei vicini?",
        "Parlami di mia sorella",
        "Cosa ha detto Anna di me?",
    ),
    "dutch": (
        "Wat weet je over mijn koffie?",
        "Wat weet je over Utrecht?",
        "Wie ben ik volgens het contract?",
        "Vertel me iets over mijn zus",
        "Wat zei Anna over mij?",
    ),
    "polish": (
        "Co wiesz o mojej kawie?",
        "Co wiesz o Krakowie?",
        "Kim jestem w tej umowie?",
        "Opowiedz mi o mojej siostrze",
        "Co Anna o mnie powiedziała?",
    ),
    "russian": (
        "Что ты знаешь о моём кофе?",
        "Что ты знаешь о Москве?",
        "Кто я по договору?",
        "Расскажи мне о моей сестре",
        "Что Анна сказала обо мне?",
    ),
    "turkish": (
        "Kahvem hakkında ne biliyorsun?",
        "Ankara hakkında ne biliyorsun?",
        "Ben kimim bu sözleşmede?",
        "Bana kız kardeşimden bahset",
        "Ayşe hakkımda ne dedi?",
    ),
    "arabic": (
        "ماذا تعرف عن قهوتي؟",
        "ماذا تعرف عن القاهرة؟",
        "من أنا في هذا العقد؟",
        "أخبرني عن أختي",
        "ماذا قالت ليلى عني؟",
    ),
    "hindi": (
        "तुम मेरी कॉफ़ी के बारे में क्या जानते हो?",
        "आप दिल्ली के बारे में क्या जानते हैं?",
        "मैं कौन सी ट्रेन लूँ?",
        "मुझे मेरी बहन के बारे में बताओ",
        "अनु ने मेरे बारे में क्या कहा?",
    ),
    "chinese": (
        "你知道我的咖啡吗？",
        "关于北京你知道些什么？",
        "我是谁的室友？",
        "跟我说说我妹妹",
        "小王怎么评价我？",
    ),
    "japanese": (
        "私のコーヒーについて何を知っていますか？",
        "東京について何を知っていますか？",
        "私は誰に電話すればいいですか？",
        "私の妹について教えて",
        "田中さんは私について何と言いましたか？",
    ),
}


# A question for an area of life with its topic, then questions for other topics with theirs.
TOPICS = {
    "english": (
        ("Tell me what you know about my job.", "my job"),
        ("What do you know about our boat?", "our boat"),
        ("What have I told you about Berlin so far?", "Berlin"),
        ("do you remember anything about what came of the burglary", "what came of the burglary"),
        ("Everything you know about my lease, please", "my lease"),
    ),
    "german": (
        ("Was weißt du über meine Familie?", "meine familie"),
        ("Kannst du mir sagen, was du von meinem Boot weißt?", "meinem boot"),
    ),
    "french": (("Que sais-tu de ma famille ?", "ma famille"), ("Parle-moi d'Anne", "Anne")),
    "spanish": (("¿Qué sabes de mi trabajo?", "mi trabajo"), ("Háblame del barco", "barco")),
    "portuguese": (
        ("O que você sabe sobre a minha família?", "a minha família"),
        ("Fala-me da minha irmã", "minha irmã"),
    ),
    "italian": (("Cosa sai del mio lavoro?", "mio lavoro"), ("Parlami di mia sorella", "mia sorella")),
    "dutch": (("Wat weet je over mijn werk?", "mijn werk"), ("Vertel me iets over de boot", "de boot")),
    "polish": (("Co wiesz o mojej pracy?", "mojej pracy"), ("Opowiedz mi o mojej siostrze", "mojej siostrze")),
    "russian": (("Что ты знаешь о моей семье?", "моей семье"), ("Что ты помнишь о встрече?", "встрече")),
    "turkish": (("Ailem hakkında ne biliyorsun?", "Ailem"), ("Toplantı hakkında ne hatırlıyorsun?", "Toplantı")),
    "arabic": (("ماذا تعرف عن عائلتي؟", "عائلتي"), ("ماذا تتذكر عن الاجتماع؟", "الاجتماع")),
    "hindi": (
        ("तुम मेरे परिवार के बारे में क्या जानते हो?", "परिवार"),
        ("मुझे मेरी बहन के बारे में बताओ", "मेरी बहन"),
    ),
    "chinese": (
        ("我的家庭你知道什么？", "我的家庭"),
        ("你知道我的咖啡吗？", "我的咖啡"),
        ("关于北京你知道些什么？", "北京"),
    ),
    "japanese": (("私の仕事について何を知っていますか？", "私の仕事"), ("会議のこと覚えてる？", "会議")),
}


def test_the_tables_know_every_language() -> None:
    languages = set(LANGUAGES)
    assert languages == ASK.keys() == ASK_SOMETHING_ELSE.keys() == TOPICS.keys()


@each_row("language, query", [(language, query) for language, queries in ASK.items() for query in queries])
def test_a_question_asks_about_the_person(language: str, query: str) -> None:
    assert asks_about_person(query, language)
    assert asks_about_person(query, "detect")


@each_row(
    "language, query", [(language, query) for language, queries in ASK_SOMETHING_ELSE.items() for query in queries]
)
def test_a_question_asks_something_else(language: str, query: str) -> None:
    assert not asks_about_person(query, language)
    assert not asks_about_person(query, "detect")


@each_row(
    "language, query, topic, is_area",
    [
        (language, query, topic, number == 0)
        for language, rows in TOPICS.items()
        for number, (query, topic) in enumerate(rows)
    ],
)
def test_a_question_has_a_topic(language: str, query: str, topic: str, is_area: bool) -> None:
    for known in (language, "detect"):
        assert topic_of(query, known) == topic
        assert asks_about_area(query, known) == is_area
        assert not asks_about_person(query, known)


@each_row(
    "query",
    [
        "What do you know about me?",
        "Which things about me do you remember?",
        "What did you say about my job?",  # asks for an answer, not for what the person told
        "What did Anna say about my job?",
        "on which evening do I swim?",
        "How do I write about my job?",
        "about my job",
        "Was hast du zu meiner Arbeit gesagt?",
        "What do you know about my job" + " of one of the friends of mine" * 9 + "?",  # too long to try
    ],
)
def test_a_question_has_no_topic(query: str) -> None:
    assert topic_of(query, "detect") is None
    assert not asks_about_area(query, "detect")


def test_the_last_sentences_may_ask_about_an_area() -> None:
    assert asks_about_area("Hi again! What do you know about my job? Thanks.", "detect")
    assert not asks_about_area("I like my job. What do you know about my boat?", "detect")


def test_long_text_asks_only_in_its_last_sentences() -> None:
    assert asks_about_person("The meeting went well. " * 2_000 + "What do you know about me?", "english")
    assert not asks_about_person("Who am I? " + "The meeting went well. " * 40, "english")
