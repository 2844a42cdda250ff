# ruff: noqa: RUF001 - the patterns are in many languages
"""Messages that say nothing but that something is not known: "You haven't told me that yet." Pure.

Each clause of such a message says so, or is no statement: an apology, an offer, a question for the answer, advice where
to look. One that says anything else makes the message an answer: "I don't know the date, but your flight is LH 123."
"""

from __future__ import annotations

import re
from typing import NamedTuple

from memorybase.core.keyword_index.scripts import normal

MAX_CHARS = 400  # a longer message says something
_SENTENCE = re.compile(r"[^.!?\n;。！？।؟؛]+[.!?\n;。！？।؟؛]*")
_ASKS = re.compile(r"[?？؟]\s*$")
_CLAUSE_ENDS = re.compile(
    r"[,:،、，：\u2013\u2014]+\s*|\s-\s"
    r"|\s(?=(?:but|however|aber|jedoch|mais|pero|mas|ma|maar|ale|но|ama|fakat|लेकिन|मगर)\s)|(?=但是?|لكن)"
)
_DIGIT = re.compile(r"\d")
_AROUND = (
    " \t\n\"'*_.!?;()[]\u2026\u00bf\u00a1\u00ab\u00bb\u201c\u201d\u201e\u3002\uff01\uff1f\u0964\u061f\u061b\u300c\u300d"
)


class _Words(NamedTuple):
    """Patterns for clauses of one language, in lower case. `unknown`: says that something is not known, by who speaks
    or in what was said. `empty`: begins a clause that states nothing."""

    unknown: str
    empty: str
    has_spaces: bool = True  # so that what begins a clause are whole words


_NOT = r"(?:n't|\bnot|\bnever|\bno|\bnothing|\bunable)\b"
_TALK = r"(?:conversations?|chats?|messages|history|memory|context|notes|records)"
_WORDS = (
    _Words(  # English
        rf"\bi\b.*{_NOT}.*\b(?:know|remember|recall|find|locate|sure|aware|certain|idea|clue|information|info|details?"
        rf"|data|records?|memor(?:y|ies)|knowledge|mention|notes?|history|told me|heard|access to (?:that|this|your|it"
        rf"|any)|able to (?:see|check|access|look)|see (?:it|that|this|any\w*|a|where|when|what|you))\b(?!.*\b(?:than"
        rf"|only|probably)\b)|\byou\b.*(?:n't|\bnot|\bnever)\b.*\b(?:told me|tell me|mention(?:ed)?|shared?|said"
        rf"|gave me|given me|provided?|specified|talked about|discussed)\b|\bnot something you\b.*\b(?:told|mentioned"
        rf"|shared)\b|(?:n't|\bnot)\b (?:look|seem|appear) (?:like|that|as if) you\b|\bno (?:mention|record"
        rf"|information|info|details?|data|notes?|trace|reference)\b|^nothing\b.*\b(?:come up|been said|been mentioned"
        rf"|mentioned|said|noted)\b|\bno way (?:of|to) (?:know|tell)\w*|^(?:so|and|that's why)?\s*i(?:'m not able to"
        rf"| am not able to| can't| cannot| couldn't) (?:say|tell(?: you)?|answer(?: that| this)?)$"
        rf"|{_NOT}.*\b{_TALK}\b|\b{_TALK}\b.*{_NOT}.*\b(?:mention|contain|say|include|specify|state|provide|any\w*)\b"
        rf"|^(?:no (?:idea|clue)|not (?:sure|that i know(?: of)?)|unknown|dunno|don't know)\b",
        r"(?:i'm )?(?:very |so |really )*sorry|apologies|my apologies|i apologi[sz]e|unfortunately|regrettably|hmm+"
        r"|well|oh|no$|i'm afraid|as an ai|based on|according to|from what|looking|as far as|please|just|let me|tell"
        r" me|feel free|thank|(?:but |so |and )?if (?:you|there)|(?:but )?i(?:'ll|'d| will| would| can| could)(?!"
        r" only)\b.*\b(?:help|remember|note|keep|save|store|look|glad|happy)\b|(?:happy|glad) to|(?:or|nor|and|any"
        r"|your)\b(?!.*\b(?:is|are|was|were|has|have|will)\b)|(?:maybe |perhaps )?(?:you(?:'ll have| can| could| may"
        r"| might| should|'d)\b.*|try |i(?:'d| would) )\b(?:check|look|ask|search|consult|try)\w*|(?:best "
        r"|maybe )?check\b",
    ),
    _Words(  # German
        r"(?=.*\bich\b)(?=.*\b(?:nichts?|nie|kein\w*)\b).*\b(?:weiss|wusste|finden?|erinner\w+|kenne|sehe|sagen"
        r"|entdecken|information\w*|angaben|daten|hinweise?|aufzeichnung\w*|einträge?|kenntnis\w*|ahnung|sicher)\b"
        r"|\bmir\b.*\b(?:nichts?|kein\w*)\b.*\b(?:bekannt|vor)\b|^keine (?:ahnung|information\w*)|\b(?:du|sie|ihr"
        r"|wir)\b.*\b(?:nichts?|nie|kein\w*)\b.*\b(?:gesagt|erzählt|erwähnt|genannt|mitgeteilt|verraten|angegeben"
        r"|gesprochen)\b|\b(?:nichts?|kein\w*)\b.*\b(?:gespräch\w*|nachrichten|unterhaltung\w*|chats?|verlauf|notizen)",
        r"(?:es )?tut mir|entschuldig\w+|sorry|leider|bitte|(?:aber )?wenn (?:du|sie)|falls|sag|dass|ob|wo|wann|wie"
        r"|was|wer|welche\w*|soweit|in unseren|gerne?|ich (?:merke|speichere|helfe)|(?:am besten |vielleicht )?(?:schau"
        r"|frag|sieh|prüfe?|guck)(?:e|st|en sie)?\b|(?:am besten |vielleicht )?(?:du|sie|kannst|können|könnte\w*)\b"
        r".*(?:schauen|sehen|fragen|prüfen|suchen|gucken)",
    ),
    _Words(  # French
        r"\bje (?:ne |n').*\b(?:sais|trouve|trouvé|vois|connais|souviens|rappelle|dispose|trouver|informations?|infos?"
        r"|renseignements?|données?|trace|souvenir|idée|mention|accès|certaine?|sûre?)\b|\bj(?:e l)?'ignore|\b(?:tu"
        r"|vous) (?:ne |n').*\b(?:dit|parlé|mentionné|indiqué|précisé|communiqué|raconté|partagé|évoqué)\b"
        r"|\b(?:aucune?|rien|pas)\b.*\b(?:conversations?|échanges?|messages|discussions?|historique|mémoire|notes)\b"
        r"|^(?:aucune|pas d'|pas la moindre) ?(?:idée|information)",
        r"(?:je suis )?(?:vraiment )?désolée?|malheureusement|pardon|excuse\w*|(?:mais )?si (?:tu|vous)|s'il"
        r"|n'hésite\w*|dis-|dites-|qu[e']|où|quand|dans (?:nos|les)|d'après|à ma|ça$|cela$|je (?:peux|pourrai|serai)"
        r"|(?:tu|vous) (?:peux|pouvez|pour\w+|devr\w+)\b.*\b(?:vérifi|regard|consult|demand|cherch|voir)\w*|(?:vérifie"
        r"|regarde|consulte|demande|cherche)\w*",
    ),
    _Words(  # Spanish
        r"\bno (?:(?:lo|la|me|te|le) )*(?:sé|sabría|recuerdo|acuerdo|encuentro|encontré|he encontrado|veo|consta"
        r"|dispongo|conozco|puedo (?:encontrar|recordar|saber)\w*|estoy segur[oa]|tengo\b.*\b(?:información|datos?"
        r"|registros?|constancia|idea|acceso|detalles?))\b|\b(?:no|nunca) me (?:lo )?(?:(?:has|ha) \w+|dij\w+|cont\w+"
        r"|habl\w+|mencion\w+)|\b(?:no|nunca) (?:has|ha) (?:mencionado|dicho|hablado|compartido)|\b(?:ni idea"
        r"|desconozco)\b|\b(?:no|nada|ningun[oa]|ningún)\b.*\b(?:conversaci\w+|mensajes|chats?|historial|memoria"
        r"|notas)\b",
        r"lo siento|lo lamento|perdona|perdón|disculp\w+|lamentablemente|desafortunadamente|por (?:desgracia|favor)"
        r"|(?:pero )?si|dime|que|dónde|cuándo|cuál|en nuestras|según|puedo|con gusto|(?:quizás? |tal vez )?(?:puede"
        r"|podría|debería)\w*\b.*\b(?:mirar|revisar|consultar|preguntar|buscar|comprobar|ver)\w*|(?:mira|revis|consult"
        r"|pregunt|busca|busque|comprueb)\w*",
    ),
    _Words(  # Portuguese
        r"\bnão (?:(?:o|a|me|te|lhe) )*(?:sei|saberia|lembro|recordo|encontro|encontrei|vejo|achei|disponho|consta"
        r"|conheço|consigo (?:encontrar|lembrar)\w*|faço ideia|tenho\b.*\b(?:informaç\w+|dados?|registr?os?|acesso"
        r"|ideia|detalhes?|certeza))\b|\b(?:não|nunca)\b.*\b(?:contou|disse|mencionou|falou|informou|contaste|disseste"
        r"|mencionaste|falaste|partilhou|compartilhou)\b|\b(?:não|nada|nenhuma?)\b.*\b(?:conversas?|mensagens"
        r"|histórico|memória|notas)\b",
        r"desculp\w+|sinto muito|lamento|infelizmente|por favor|(?:mas )?se|que|onde|quando|qual|nas nossas|segundo"
        r"|posso|diga|(?:talvez )?(?:você |tu )?(?:pode|poderia|podia|deve|deveria)\w*\b.*\b(?:verificar|olhar"
        r"|consultar|perguntar|procurar|ver|conferir)\w*|(?:verifi|consult|pergunt|procur|confir|confer)\w*|veja|vê",
    ),
    _Words(  # Italian
        r"\bnon (?:(?:lo|ne|mi|ti|la) )*(?:so|saprei|ricordo|trovo|vedo|dispongo|conosco|riesco a (?:trovar"
        r"|ricordar)\w*|sono (?:sicur[oa]|a conoscenza)|risulta|ho\b.*\b(?:informazion\w+|dati|idea|trovato|traccia"
        r"|accesso|ricordi))\b|\bnon (?:me|mi|ce) ?(?:l'|lo |ne )?(?:hai|ha)\b.*\b(?:dett[oa]|parlato|menzionato"
        r"|raccontato|indicato|fornito)\b|\b(?:non|nulla|niente|nessuna?)\b.*\b(?:conversazion\w+|chat|messaggi"
        r"|cronologia|memoria|note)\b|^nessuna idea",
        r"mi dispiace|scusa\w*|purtroppo|per favore|(?:ma )?se|che|dove|quando|quale|nelle nostre|dimmi|posso"
        r"|volentieri|(?:forse )?(?:puoi|può|potre\w+|dovre\w+)\b.*\b(?:controlla|guarda|chied|cerca|consulta|vede"
        r"|verifica)\w*|(?:controlla|guarda|chied[ai]|cerca|consulta|verifica)\w*",
    ),
    _Words(  # Dutch
        r"(?=.*\bik\b)(?=.*\b(?:niets?|geen|nooit)\b).*\b(?:weet|vinden?|vind|herinner\w*|zie|informatie|gegevens|idee"
        r"|toegang|zeker|zeggen)\b|^geen (?:idee|informatie)|\b(?:je|jij|u)\b.*\b(?:niets?|nooit|geen)\b.*\b(?:verteld"
        r"|gezegd|genoemd|vermeld|gedeeld|aangegeven)\b|\b(?:niets?|geen)\b.*\b(?:gesprek\w*|berichten|geschiedenis"
        r"|geheugen|notities)\b",
        r"sorry|het spijt|helaas|excuses|alsjeblieft|(?:maar )?als (?:je|u)|laat|vertel|dat|waar|wanneer|wie|wat|welke"
        r"|in onze|graag|(?:misschien )?(?:je|u|kunt?|kan) (?:je |u |kunt? |kan |zou |moet )?.*\b(?:na)?(?:kijken"
        r"|vragen|zoeken|controleren|checken|opzoeken)|(?:kijk|vraag|controleer|check|zoek)\w*",
    ),
    _Words(  # Polish
        r"\bnie (?:\w+ )?(?:wiem|pamiętam|znam|znalazł\w*|znajduję|widzę|posiadam|dysponuję|przypominam"
        r"|mogę\b.*\bznaleźć|mam\b.*\b(?:informacj\w+|danych|pojęcia|wiedzy|dostępu|zapis\w*))\b|\b(?:nie|nigdy"
        r"|nic)\b.*\b(?:powiedzia|mówi|wspomina|wspomnia|poda|opowiada|napisa)ł[ea]ś\b|\b(?:nie|nic"
        r"|brak)\b.*\b(?:rozmow\w+|rozmów|wiadomości\w*|historii|pamięci|notatk\w+)\b",
        r"przepraszam|przykro|niestety|wybacz\w*|proszę|(?:ale )?jeśli|powiedz|że\w*|gdzie|kiedy|kto|co|jak\w*|w"
        r" naszych|chętnie|(?:może )?(?:możesz|może|mógł\w+|mogł\w+|powin\w+)\b.*\b(?:sprawdz|zapyta|poszuka|zajrze"
        r"|zobacz)\w*|(?:sprawdź|zapytaj|poszukaj|zajrzyj|zobacz)\w*",
    ),
    _Words(  # Russian
        r"\bне (?:\w+ )?(?:знаю|помню|нашел|нашла|нахожу|вижу|уверен\w*|располагаю|могу\b.*\b(?:найти|вспомнить"
        r"|сказать))\b|у меня\b.*\bнет\b.*\b(?:информации|данных|сведений|записей|доступа)\b|\bпонятия не имею"
        r"|\bмне\b.*\bне ?известно\b|\b(?:ты|вы)\b.*\b(?:не|ни разу|никогда)\b.*\b(?:говорил\w*|сказал\w*|упом\w+"
        r"|рассказ\w+|сообщ\w+|указ\w+)|\b(?:нет|ничего|не)\b.*\b(?:бесед\w*|сообщени\w+|разговор\w*|переписк\w+"
        r"|памяти)\b",
        r"извини\w*|простите|прости|к сожалению|увы|пожалуйста|(?:но )?если|подскажи\w*|скажи\w*|что\w*|где|когда|кто"
        r"|как\w*|в наших|(?:можешь|можете|мог\w* бы|стоит|попробуй\w*|лучше)\b.*\b(?:посмотр|провер|спрос|поис|уточн"
        r"|загля)\w*|(?:посмотри|проверь|спроси|поищи|уточни|загляни)\w*",
    ),
    _Words(  # Turkish
        r"\b(?:bilmiyorum|hatırlamıyorum|bulamadım|bulamıyorum|göremiyorum|emin değilim|haberim yok|sahip değilim)\b"
        r"|\b(?:bilgi\w*|fikrim|kayd?ı?t?\w*)(?: \w+)? (?:yok|bulunmuyor|bulunamadı)\b|\b(?:söyle|belirt|bahset|paylaş"
        r"|anlat)m[ea](?:din\w*|diniz|miştin\w*)\b",
        r"üzgünüm|özür|maalesef|ne yazık|lütfen|eğer|(?:ama )?bana|kusura|istersen\w*|memnuniyetle|.*\b(?:bak|sor|ara"
        r"|kontrol ed)y?[ae]?bilirsin\w*|.*\b(?:bak|sor)(?:ın|un)?(?:ız|uz)?$",
    ),
    _Words(  # Arabic
        r"لا (?:اعرف|اعلم|ادري|اتذكر|اذكر|املك|اجد)|لم (?:اجد|اعثر)|ليست? (?:لدي|عندي)(?!\w).*(?:معلوم|فكر|علم|بيان"
        r"|سجل)|لا علم لي|لست متاكد|لم (?:تخبر|تذكر|تقل|تشارك|تحدد)\w*",
        r"(?:انا )?اسفة?|عذرا|اعتذر|للاسف|معذرة|من فضلك|(?:لكن )?(?:اذا|ان)\b|هل|اخبرني|يرجى|(?:يمكنكم?|بامكانك|حاول"
        r"|جرب).*(?:التحقق|النظر|البحث|السؤال|سؤال|مراجعة|الاطلاع|تسال|تبحث|تراجع)|(?:راجع|تحقق|اسال|ابحث|انظر)\b",
        has_spaces=False,
    ),
    _Words(  # Hindi
        r"मुझे .*(?:नहीं पता|पता नहीं|याद नहीं|नहीं मिल|जानकारी नहीं|मालूम नहीं|नहीं मालूम)|मैं .*नहीं जानत|मैं नहीं"
        r" जानत|मेरे पास .*(?:जानकारी|रिकॉर्ड|डेटा).*नहीं|^पता नहीं|आपने .*(?:नहीं (?:बताया|कहा)|(?:जिक्र|उल्लेख)"
        r" नहीं)",
        r"माफ|क्षमा|खेद|अफसोस|कृपया|अगर|यदि|हमारी बातचीत|क्या|कि |(?:आप|शायद) .*(?:देख|जांच|जाँच|पूछ|खोज)",
        has_spaces=False,
    ),
    _Words(  # Chinese
        r"我.{0,16}(?:不(?:太|是很|大)?(?:知道|清楚|了解|记得|确定)|没有?(?!人).{0,12}(?:信息|记录|资料|数据|印象|找到|查到)|[找查]不到|想不起来|无法(?:找到|得知|查到"
        r"|确定|回答))|^不(?:知道|清楚|记得)|[你您].{0,5}(?:没有?|未曾?).{0,6}(?:告诉|提到|提过|说过|提供|提及|讲过)|(?:对话|聊天|记录).{0,8}(?:没有|找不到|未)",
        r"抱歉|很抱歉|对不起|不好意思|很?遗憾|请|如果|可以|根据|在我们|你能|您能|(?:建议)?[你您]?(?:可以|不妨|最好)?.{0,12}(?:看看|查看|查一下|查查|问问|问一下|检查)",
        has_spaces=False,
    ),
    _Words(  # Japanese
        r"[わ分判知]か?り(?:ません|かねます)|[わ分]からない|存じ(?:ません|て)|知らない|覚えて(?:い|お)?(?:ません|ない|りません)|思い出せ(?:ません|ない)|見つか(?:りません|らな)"
        r"|見当たりま|(?:情報|記録|データ|履歴|心当たり).{0,8}(?:ません|ない)|(?:聞いて|伺って|教えてもらって|教えていただいて)(?:い|お)?(?:ません|ない|りません)",
        r"す[みい]ません|申し訳|ごめん|残念|恐れ入り|よろしければ|もし|教えて|ちょっと|これまでの|.*ください$|.*(?:確認|調べ|見|聞い|探).*(?:いかが|どう)",
        has_spaces=False,
    ),
)
_WORD_ENDS = r"(?:(?<=['-])|(?!\w))"
_UNKNOWN = [re.compile(each.unknown) for each in _WORDS]
_EMPTY = [re.compile(rf"(?:{each.empty}){_WORD_ENDS if each.has_spaces else ''}") for each in _WORDS]

_ALEF = str.maketrans("أإآ", "ااا")


def is_non_answer(text: str) -> bool:
    """Whether the message says only that something is not known, in any of the languages."""
    if len(text) > MAX_CHARS:
        return False
    sentences = _SENTENCE.findall(_plain(text))
    return any(_says_nothing(sentences, unknown, empty) for unknown, empty in zip(_UNKNOWN, _EMPTY, strict=True))


def _plain(text: str) -> str:
    """The text in lower case, with one spelling of letters that are often written in two ways."""
    folded = normal(text).casefold().replace("\u2019", "'").replace("ё", "е").replace("\u093c", "")
    return folded.translate(_ALEF)


def _says_nothing(sentences: list[str], unknown: re.Pattern[str], empty: re.Pattern[str]) -> bool:
    found = False
    for sentence in sentences:
        for clause in () if _ASKS.search(sentence) else _CLAUSE_ENDS.split(sentence):
            stated = clause.strip(_AROUND)
            if stated and unknown.search(stated):
                found = True
            elif stated and (_DIGIT.search(stated) or not empty.match(stated)):
                return False
    return found
