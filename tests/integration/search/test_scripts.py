# ruff: noqa: RUF001 - the words are in many scripts
"""Words of every script by keywords and by `find`: what differs by a mark, what may be written in several ways."""

from __future__ import annotations

from typing import NamedTuple

from harness.index import assert_index_exact
from harness.world import World

from memorybase.core.database.paging import PageRequest
from memorybase.core.queries.messages import MessageQuery
from memorybase.core.read_models import sessions as lists
from memorybase.core.search import search as answer
from memorybase.core.search.request import SearchRequest


class Row(NamedTuple):
    """A question's word, the messages that have it, and messages with words that differ from it by little."""

    script: str
    word: str
    having: tuple[str, ...]
    others: tuple[str, ...] = ()


ROWS = (
    Row("Devanagari", "किला", ("हमने पुराना किला देखा",), ("मुझे केला पसंद है", "उसका कोट काला है")),
    Row("Bengali", "মেলা", ("শীতের মেলা শুরু হলো",), ("ফুলের মালা কিনেছি",)),
    Row("Gurmukhi", "ਕੇਲਾ", ("ਮੈਂ ਕੇਲਾ ਖਾਧਾ",), ("ਉਹ ਕਾਲਾ ਹੈ", "ਇਹ ਕਲਾ ਹੈ")),
    Row("Gujarati", "કેળા", ("બજારમાં કેળા મળે છે",), ("વાળ કાળા છે",)),
    Row("Odia", "ମେଳା", ("ଗାଁରେ ମେଳା ବସିଛି",), ("ଫୁଲ ମାଳା",)),
    Row("Tamil", "பால்", ("பால் வாங்கு",), ("பல் வலி", "புல் பச்சை")),
    Row("Telugu", "పాట", ("మంచి పాట",), ("చెక్క పీట", "ఒక పూట")),
    Row("Kannada", "ಹಾಡು", ("ಹಳೆಯ ಹಾಡು",), ("ಹಣ ಹೂಡು",)),
    Row("Malayalam", "മാല", ("സ്വർണ്ണ മാല",), ("ഉയരമുള്ള മല", "മുറിയുടെ മൂല")),
    Row("Malayalam", "അവന്\u200d", ("അവൻ വന്നു",)),
    Row("Sinhala", "මාල", ("රන් මාල",), ("රතු මල", "ගසේ මුල")),
    Row("Tibetan", "མེ", ("ཁང་པའི་མེ་ཆེན།",), ("བོད་པའི་མི་མང་།",)),
    Row("Thaana", "ފަން", ("ފަން ރީތި",), ("ފޮން ރީތި",)),
    Row("Thai", "แมว", ("ฉันเลี้ยงแมวสองตัว",), ("แม่วางแก้วไว้",)),
    Row("Thai", "ม้า", ("เขาขี่ม้าในป่า",), ("เธอมาบ้านเมื่อวาน", "ลูกหม่าหายไป")),
    Row("Lao", "ມ້າ", ("ລາວຂີ່ມ້າໃນທົ່ງ",), ("ລາວມາເຮືອນ",)),
    Row("Khmer", "ឆ្មា", ("ខ្ញុំចិញ្ចឹមឆ្មាពណ៌ស",), ("គាត់ឆ្មីណា", "ម្ហូបឆាក្តៅ")),
    Row("Khmer", "ភ្នំពេញ", ("ខ្ញុំរស់នៅ\u200bភ្នំ\u200bពេញ",)),
    Row("Myanmar", "ငါး", ("သူငါးဖမ်းတယ်",), ("ဒါငါ့အိမ်",)),
    Row("Myanmar", "ကြောင်", ("အဖြူရောင်ကြောင်လေး",), ("ကြောက်စရာကောင်းတယ်",)),
    Row("Javanese", "ꦥꦏꦸ", ("ꦥꦏꦸ ꦱꦶꦗꦶ",), ("ꦥꦏꦺ ꦏꦭꦶꦃ",)),
    Row("Latin", "mạ", ("gieo mạ ngoài đồng", "con ma trong nhà"), ("má tôi nấu ăn", "ngôi mả cũ", "mà thôi")),
    Row("Latin", "ma", ("con ma trong nhà", "gieo mạ ngoài đồng", "má tôi nấu ăn", "ngôi mả cũ", "mà thôi")),
    Row("Latin", "Munoz", ("Dr. Muñoz called back",), ("the moons of Mars",)),
    Row("Latin", "Kobenhavn", ("a trip to København",)),
    Row("Latin", "Łódź", ("the train to Łódź", "the bus to Lodz")),
    Row("amounts", "1649", ("the sofa was 1,649 €", "1.649,00 wurden abgebucht"), ("room 649, floor 1",)),
    Row("amounts", "4,300", ("rund 4.300 €", "about 4300 all in all", "4.3k net"), ("floor 4, room 301",)),
    Row("telephone", "+49 40 5550 1234", ("ring 040 55501234", "(040) 555-01234 is the desk"), ("040 55501235",)),
    Row("codes", "FIN3391", ("see FIN-3391", "fin3391 is closed"), ("see FIN-3392",)),
    Row("codes", "8812-0447", ("order 88120447",), ("order 88120448",)),
    Row("units", "500mbit", ("a line with 500 Mbit",), ("a line with 50 Mbit",)),
    Row(
        "dates",
        "3.12.",
        ("Zahnarzt am 03.12.2026", "due 2026-12-03", "the dentist on December 3rd"),
        ("am 03.11.2026",),
    ),
    Row("Latin", "ọ̀rọ́", ("ọ̀rọ́ kan",), ("ọ̀rọ̀ kan",)),
    Row("kana", "かぎ", ("かぎがない",), ("かきがあまい",)),
    Row("Han", "鍵", ("鍵は玄関の棚にあります",), ("猫の名前はタマです",)),
    Row("Han", "雨", ("今天下雨了",), ("今天下雪了",)),
    Row("Han", "𠮷野", ("昨日は𠮷野家で食べた",), ("昨日は高野家で休んだ",)),
    Row("Hangul", "물", ("시원한물을마셨다",), ("무을건넜다",)),
    Row("Arabic", "مراكش", ("سافرت الى مَرَّاكُش", "مــراكش جميلة")),
    Row("Arabic", "احمد", ("جاء أحمد",), ("سمعت حمدا",)),
    Row("Arabic", "القاهره", ("زرنا القاهرة",)),
    Row("Arabic", "ليلي", ("هذه ليلى",)),
    Row("Persian", "میخواهم", ("من چای می\u200cخواهم",), ("او چای خورد",)),
    Row("Persian", "کتاب", ("کتاب\u200cها روی میز است", "كتاب تازه خریدم")),
    Row("Hebrew", "המפתח", ("איפה הַמַּפְתֵּחַ",), ("איפה המפה",)),
    Row("Syriac", "ܡܠܟܐ", ("ܡܰܠܟܳܐ ܛܒܐ",)),
    Row("Greek", "ΘΑΛΑΣΣΑ", ("η θάλασσα είναι ζεστή",)),
    Row("Greek", "ανθρωπος", ("ὁ ἄνθρωπος ἦλθεν",)),
    Row("Cyrillic", "замок", ("старый за\u0301мок на холме",)),
    Row("Cyrillic", "живет", ("она живёт в Твери",)),
    Row("Cyrillic", "война", ("долгая война",), ("меч воина",)),
    Row("Turkish", "istanbul", ("İstanbul çok büyük", "ISTANBUL 2024")),
    Row("Turkish", "ısparta", ("Isparta gül kokar",)),
    Row("digits", "1984", ("पहला साल १९८४ था", "سنة ١٩٨٤")),
    Row("keycaps", "7", ("room 7\ufe0f\u20e3 upstairs",)),
    Row("camel case", "repository", ("call getRepositoryById first", "the HTTPRepository class", "a repository by id")),
    Row("camel case", "getRepositoryById", ("call getRepositoryById first",), ("a repository by id",)),
    Row("camel case", "parseLedger", ("def parse_ledger(path)", "call parseLedger twice")),
    Row("snake case", "ledger", ("def parse_ledger(path)", "call parseLedger twice")),
    Row("names", "Will", ("I met Will at the station", "Will plays the tuba."), ("Will you come?", "this will do")),
    Row("names", "don", ("Ask Don about the boiler",), ("I don't ask", "Don't wait")),
)


def test_words_of_every_script_are_found_and_told_apart(world: World) -> None:
    base = world.new_base()
    for number, text in enumerate(dict.fromkeys(text for row in ROWS for text in (*row.having, *row.others))):
        world.say(f"s{number}", text)
    assert_index_exact(world)
    wrong = []
    for row in ROWS:
        query = MessageQuery(flow_id=world.flow_id, find=row.word)
        listed = {
            each.content for each in lists.list_messages(world.services, world.user_id, query, PageRequest()).items
        }
        request = SearchRequest(memory_base_id=base, query=row.word, mode="keyword", top_k=len(row.having))
        found = {each.content for each in answer.search(world.services, world.user_id, request).results}
        for way, got in (("find", listed), ("search", found)):
            if got != set(row.having):
                wrong.append(f"{way} {row.script} {row.word}: {sorted(got)} instead of {sorted(row.having)}")
    assert not wrong, "\n".join(wrong)


def test_a_word_with_the_accents_of_the_question_comes_first(world: World) -> None:
    base = world.new_base()
    texts = ["the péché of pride", "the peche of pride", "the pêche of pride"]
    for number, text in enumerate(texts):
        world.say(f"s{number}", text)
    for query, first in (("péché", 0), ("pêche", 2)):
        request = SearchRequest(memory_base_id=base, query=query, mode="keyword")
        found = [each.content for each in answer.search(world.services, world.user_id, request).results]
        assert found[:2] == [texts[first], texts[1]], query


def test_a_number_in_another_form_comes_before_its_parts(world: World) -> None:
    base = world.new_base()
    for number, text in enumerate(["about 4300 all in all", "about 4, 300 or more"]):
        world.say(f"s{number}", text)
    request = SearchRequest(memory_base_id=base, query="4,300", mode="keyword")
    assert answer.search(world.services, world.user_id, request).results[0].content == "about 4300 all in all"
