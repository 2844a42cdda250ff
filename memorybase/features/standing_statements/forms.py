"""The forms of standing statements, as regular expressions. English only.

An instruction begins its sentence, a preference its clause. What also begins like a form and means something else is
excluded where the form is written: "never mind", "I always forget", "call me later".
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Form:
    """A pattern with the name by which `make bench-rules` judges it, and the condition under which it counts.

    timeless    not if the sentence points at the present matter: this file, the second option, now
    unasked     not next to a question or request, unless the sentence names the assistant's answers
    """

    name: str
    pattern: re.Pattern[str]
    timeless: bool = False
    unasked: bool = False


def _form(name: str, pattern: str, *, timeless: bool = False, unasked: bool = False) -> Form:
    return Form(name, re.compile(pattern, re.IGNORECASE), timeless, unasked)


# A sentence without any of these has no form. Almost every message ends with this check, which costs some microseconds.
CUES = (
    "always",
    "never",
    "prefer",
    "now on",
    "here on",
    "forward",
    "future",
    "whenever",
    "every time",
    "each time",
    "don't",
    "do not",
    "no ",
    "stop ",
    "without ",
    "avoid",
    "skip ",
    "rather",
    "remember",
    "keep in mind",
    "call me",
    "address me",
    "refer to me",
    "answer",
    "respon",
    "repl",
    "unit",
    "metric",
    "imperial",
    "celsius",
    "fahrenheit",
    "concise",
    "brief",
    "short",
    "polite",
    "formal",
    "direct",
    "honest",
    "emoji",
    "hate ",
    "dislike",
    "detest",
    "can't stand",
    "allergic",
    "vegetarian",
    "vegan",
    "intoleran",
    "favorite",
    "favourite",
    "pronoun",
    "spelling",
    "speak",
    "talk ",
    "feel free",
    "you can ",
    "you may ",
    "explanation",
    "bullet",
    "type hint",
    "english",
    "only ever",
    "colour",
    "color",
    "suggestions",
    "recommendations",
    "write in ",
    "i ask",
    "explain ",
    "use ",
    "hour ",
)

# Words that may come before an instruction.
OPENING = (
    r"(?:(?:[-*\u2022]|\d{1,2}[.)])\s+)?"
    r"(?:(?:ok(?:ay)?|hey|hi|hello|oh|btw|by the way|also|and|but|so|then|just|well|yes|no|thanks|thank you|great"
    r"|important|note|rule|preference|reminder|one more thing|one thing|as a rule|in general|generally)\b[,:!\s]+){0,3}"
)
# Words after always, never or "from now on" with which they are no instruction.
_NOT_VERB = (
    r"(?!(?:it|mind|heard|been|had|have|has|seen|thought|knew|know|wanted|liked|said|tried|used to|did|got|gets"
    r"|going|gonna"
    r"|ever|again|once|a|an|the|this|that|these|those|my|your|its|he|she|they|we|i|i'm|i've|happy|good|nice|great"
    r"|wondered|wanting|trying|too|so|as|been|is|was|were|are|would|could|will|there|fails|works|worked|in the|on the"
    r"|forget about it|say never|you|our|all|his|her|their|some|any|no|most|people|users|what|how|why|when|if"
    r"|everything|nothing|maybe|perhaps|saw|came|went|made|felt|found|here|up|down|in|on|at|with|glad|ready|open"
    r"|fun|worth"
    r"|give up|gives|makes|looks|feels|stop (?:believing|learning|dreaming|trying)|let me know)\b)"
)
_VERB = rf"{_NOT_VERB}[a-z][a-z'-]+"
_NOT = r"(?:don't|do not)"
_FROM_NOW = r"(?:from (?:now|here) on(?:wards?)?|going forward|in (?:the )?future|for (?:all )?future \w+)"
_LANGUAGE = (
    r"(?:plain |simple |british |american |brazilian )?(?:english|german|french|spanish|portuguese|italian|dutch|polish"
    r"|russian|turkish|arabic|hindi|chinese|mandarin|japanese|korean|swedish|danish|norwegian|finnish|czech|greek"
    r"|ukrainian|hebrew|romanian|hungarian|thai|vietnamese)"
)
_UNITS = (
    r"(?:metric|imperial|si|celsius|fahrenheit|kelvin|kilomet(?:er|re)s?|miles|kilograms?|pounds|us customary)"
    r"(?: units?| system| measurements?)?"
)
_MANNER = (
    rf"(?:in {_LANGUAGE}\b|in (?:plain|simple) (?:words|language|terms)|(?:in |with |using )?{_UNITS}\b"
    r"|(?:in|with|as|using) (?:short |numbered |structured )*(?:bullet(?: point)?s?|lists|markdown|tables|json"
    r"|plain text"
    r"|prose)\b|(?:short|brief|concise|formal|informal|polite|casual|blunt|to the point|simple|terse|detailed|honest"
    r"|direct)\b|(?:briefly|concisely|formally|informally|directly|honestly|politely|casually)\b)"
)
_ANSWERS = (
    r"(?:(?:your|all|the|any|every|each) )?(?:(?:future|other|of your) )?(?:answers?|repl(?:y|ies)|responses?"
    r"|explanations|messages|code (?:examples|samples|snippets)|suggestions|recommendations)"
)
_AVOIDED = (
    r"(?:use|add|include|put|say|start|end|give(?! up)|suggest|recommend|call|apologi[sz]e|show|repeat|write|send"
    r"|explain|assume)"
)

# Instructions, at the start of a sentence that is no question.
INSTRUCTIONS = (
    # "Always include error codes", "I want you to never use tables"
    _form(
        "always_never",
        r"(?:please\s+|you (?:should|must)\s+|i (?:want|need|would like) you to\s+|i'd like you to\s+"
        rf"|make sure (?:to|you|that you)\s+|be sure to\s+|remember to\s+)?(?:always|never)\s+{_VERB}",
    ),
    # "From now on, answer in German", "Going forward I'd like your answers to be short"
    _form(
        "from_now_on",
        rf"(?:please,?\s+)?{_FROM_NOW}[,:]?\s+(?:(?:please|always|never|only|just)\s+)*(?:you (?:should|must|can|may)\s"
        rf"|i (?:want|need|would like|expect) (?:you|your|all)\b|i'd (?:like|prefer) (?:you|your|all)\b|{_NOT}\s"
        rf"|i'd prefer\s|i prefer\s|{_VERB}\s)",
    ),
    # "Whenever I ask for code, use type hints"
    _form(
        "whenever",
        r"(?:whenever|(?:every|each) time)\s+(?:you|i|we)\s[^,]{3,80},\s*"
        rf"(?:(?:please|always|never|{_NOT}|you should|make sure)\s+)*(?!just )(?!let ){_VERB}\s",
        timeless=True,
    ),
    # "Use metric units from now on", "Add types when I ask for code"
    _form(
        "at_the_end",
        rf"(?:please\s+)?(?:{_NOT}|{_VERB})\s[^,;]{{3,120}}[\s,]+(?:from (?:now|here) on|going forward"
        r"|in (?:the )?future|whenever (?:you|i)\s.+|(?:every|each) time (?:you|i)\s.+"
        r"|when(?:ever)? i ask (?:about|for|you)\s.+)[.!]*$",
    ),
    # "You can use emojis again"
    _form(
        "allowed_again",
        rf"(?:you can|you may|feel free to|it's (?:ok|okay|fine) to)\s+{_VERB}\s.{{2,80}}\b(?:again|from now on"
        r"|going forward)[.!]*$",
    ),
    # "Remember that I'm allergic to nuts"
    _form(
        "remember",
        r"(?:please\s+)?(?:remember|keep in mind|note|don't forget),?\s+(?:that\s+)?(?:(?:i'm|i am) (?!always|here"
        r"|there|with)|i have|i don't|i do not"
        r"|i can't|i cannot|i prefer|i like|i hate|i only|i never|i always|my \w+ (?:is|are)"
        r"|we (?:use|don't|never|always|only))\b",
    ),
    # "Call me Sam"
    _form(
        "call_me",
        r"(?:please\s+|you can\s+|you may\s+|just\s+)*(?:call me|address me as|refer to me as)\s+(?!(?:when|back|at"
        r"|tomorrow|today|later|if|now|on|in|crazy|old|maybe|ishmael|before|after|again|anytime|by)\b)[\w'-]+"
        r"(?:\s+(?-i:[A-Z])[\w'.-]+)?(?:[,;.!]|\s+(?:please|not|instead|from now on)\b|$)",
    ),
    _form("pronouns", r"my pronouns are\s"),
    # The manner of all answers. A request of the moment names what it is about.
    _form(
        "answers",
        r"(?:(?:please|only|always)\s+)*(?:keep|make|limit|format|structure|write|give|phrase|start|begin|end)\s+"
        rf"(?:me\s+)?(?!the answer\b|an? ){_ANSWERS}\b",
        timeless=True,
        unasked=True,
    ),
    _form(
        "answer_in",
        r"(?:(?:please|only)\s+)*(?:answer|respond|reply|speak|talk|write|explain (?:things|everything|concepts))\s+"
        rf"(?:(?:to )?me\s+)?(?:(?:only|just|always)\s+)?{_MANNER}",
        timeless=True,
        unasked=True,
    ),
    _form(
        "use",
        rf"(?:please\s+)?(?:only\s+)?use (?:only )?(?:the )?(?:{_UNITS}\b|(?:british|american|us|uk) (?:english"
        rf"|spelling)"
        r"|(?:24|12)[- ]hour (?:time|clock|format)|(?:bullet(?: point)?s|lists|tables|markdown|type hints|emojis?"
        r"|my (?:first )?name|(?:he|she|they)/\w+)\b)",
        timeless=True,
        unasked=True,
    ),
    _form(
        "be",
        r"(?:please\s+)?(?:be|keep it|stay) (?:more |very |always )?(?:concise|brief|short|direct|honest|formal"
        r"|informal"
        r"|blunt|polite|terse|critical|to the point)\b.{0,60}$",
        timeless=True,
        unasked=True,
    ),
    _form(
        "avoid",
        r"(?:please\s+)?(?:no|without|avoid|skip|stop (?:using|adding|saying|apologi[sz]ing|with)"
        rf"|{_NOT} (?:ever )?{_AVOIDED})\b",
        timeless=True,
        unasked=True,
    ),
)
# Questions that ask for something from now on.
POLITE_REQUESTS = (
    _form("can_you_always", rf"(?:can|could|would|will) you (?:please |kindly )?(?:always|never)\s+{_VERB}"),
    _form(
        "can_you_from_now_on",
        rf"(?:can|could|would|will) you (?:please |kindly )?{_VERB}\s.{{2,120}}\b(?:from (?:now|here) on|going forward"
        r"|in (?:the )?future)\b",
    ),
)

_ADVERBS = (
    r"(?:(?:really|much|always|generally|usually|typically|strongly|personally|also|definitely|still|very much|just"
    r"|tend to|would|actually|mostly|normally)\s+)*"
)
# Preferences, where a clause begins, also in a sentence that ends as a question.
PREFERENCES = (
    _form("prefer", rf"\b(?:i|we) {_ADVERBS}prefer\b(?!\s*(?:not to say|[.?!,]|$))", timeless=True),
    _form("rather", r"\bi'd (?:much |really |always |definitely )*(?:rather|prefer)\b", timeless=True),
    _form("preference_is", r"\bmy (?:\w+ )?preference (?:is|for|has always been)\b", timeless=True),
    _form("favourite", r"\bmy (?:preferred|favou?rite) [\w\s-]{2,40}? (?:is|are)\b", timeless=True),
    _form(
        "i_always_never",
        r"\bi (?:always|never|only ever) (?!(?:feel|felt|forget|get|struggle|know|understand|remember|wonder|find|fail"
        r"|end|seem|worry|really|quite|expected|intended|meant|realized|realised|asked|mentioned|said)\b)"
        rf"{_NOT_VERB}(?![a-z]+ed\b)[a-z]+",
        timeless=True,
    ),
    _form(
        "hate",
        r"\bi (?:really |absolutely )?(?:hate|dislike|detest|can't stand|don't like|do not like)\s+(?!(?:it|how"
        r"|when|what"
        r"|to admit|to say|to ask|the fact|myself|him|her|them)\b)",
        timeless=True,
    ),
    _form(
        "diet",
        r"\bi(?:'m| am) (?:a )?(?:strict |mostly )?(?:vegetarian|vegan|pescatarian|allergic to|lactose intolerant"
        r"|gluten[- ]intolerant|colou?r[- ]?blind)\b",
    ),
    _form(
        "i_do_not",
        rf"\bi (?:{_NOT}|never) (?:eat|drink|use|work|fly|drive|take)\b(?!\s+(?:it|that|this)\b)",
        timeless=True,
        unasked=True,
    ),
    _form(
        "want_answers",
        r"\b(?:i (?:want|would like|expect|need)|i'd like) (?:you to (?:always|never)"
        r"|(?:all (?:of )?)?your (?:answers|replies|responses|explanations))\b",
    ),
    _form(
        "do_not_want",
        rf"\bi {_NOT} want (?:you to (?:ever )?(?:use|add|include|suggest|recommend|apologi[sz]e|call)|any emojis?)\b",
        timeless=True,
    ),
)

# "I prefer it over the other": the clause before says what.
PRONOUN_OBJECT = re.compile(r"\bprefer (?:it|them|that|this|those|these)\b", re.IGNORECASE)
# Words of a sentence about the present matter.
OF_THE_MOMENT = re.compile(
    r"\b(?:this|these|those|here|now|today|tonight|tomorrow|yet|above|below|following"
    r"|the (?:first|second|third|last|latter|former|other|same|function|file|code|class|test|line|method|text|email"
    r"|table|question|error|bug|one|ones|option|version|output|input|script|essay|draft|paragraph|section|design))\b"
    r"|\bthat\b(?!(?:'s| are| is| i| i'm| have| has| can| use| do| don't| work)\b)|\boption [a-z0-9]\b",
    re.IGNORECASE,
)
FROM_NOW_ON = re.compile(r"\bfrom now on\b", re.IGNORECASE)
# A sentence that names the answers, so it is about all of them.
NAMES_ANSWERS = re.compile(
    rf"\b(?:{_ANSWERS}|with me|when (?:you|i ask)|to me|me (?:as|to)|unless i ask|ever|emojis?|in general|any ?more)\b",
    re.IGNORECASE,
)
# A statement that holds under a condition.
CONDITION = re.compile(r"\b(?:when(?:ever)?|if|every time|each time|while|in case)\b", re.IGNORECASE)

REQUEST = re.compile(
    rf"^\s*{OPENING}(?:please\s+)?(?:can|could|would|will|how|what|why|where|which|who|when|is|are|do|does|did|should"
    r"|help|write|fix|make|create|show|give|explain|tell|implement|add|refactor|review|find|suggest|build|generate"
    r"|draft"
    r"|list|compare|debug|optimi[sz]e|convert|update|change|design|plan|let's|i need|i want)\b(?! not\b)",
    re.IGNORECASE,
)
# Where the clause of a preference begins, and where the request of the moment after it begins.
CLAUSE_START = re.compile(
    r"(?:^|[,;:(\u2014]|\s-\s|\b(?:and|but|so|because|since|as|though|although|that|while|in|also|account|considering"
    r"|given)\b)\s*$",
    re.IGNORECASE,
)
ASKED_ABOUT = re.compile(
    r"\b(?:if|whether|why|when|what|which|how|where|do|does|should|would|could|unless) $", re.IGNORECASE
)
CLAUSE_END = re.compile(
    r"[,;]?\s+(?:(?:so|and|but|then)\s+)?(?:(?:can|could|would|will|do|should) (?:you|i|we|it)"
    r"|how (?:can|do|should|would)|what (?:is|are|can|could|would|should|do)|considering|given (?:that|my|the)"
    r"|is (?:there|it)|are there|so (?:i|i'm|we|how)\b|(?:and|but) (?:i|i'm|i've|i'd|we|my|now|also|maybe)\b"
    r"|any (?:ideas?|tips|suggestions))",
    re.IGNORECASE,
)
