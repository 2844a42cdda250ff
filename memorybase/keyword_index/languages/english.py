from __future__ import annotations

from memorybase.keyword_index.languages.date_words import DateWords

# English is the default of the analyzer and of the query parser: only its words for times are a table.
ENGLISH_DATES = DateWords(
    months="january february march april may june july august september october november december",
    short_months="jan feb mar apr may jun jul aug sep/sept oct nov dec",
    weekdays="monday tuesday/tue/tues wednesday thursday/thu/thur/thurs friday/fri saturday sunday",
    today=r"today|tonight|this (?:morning|afternoon|evening|noon)|earlier today",
    yesterday=r"yesterday(?: (?:morning|afternoon|evening|night))?|last (?:night|evening)",
    day_before=r"(?:the )?day before yesterday|the night before last",
    units={
        "hour": r"hours?|hrs?",
        "day": r"days?",
        "week": r"weeks?|wks?",
        "weekend": r"week-?ends?",
        "month": r"months?",
        "quarter": r"quarters?",
        "year": r"years?|yrs?",
    },
    fortnight=r"fortnights?",
    plurals=r"hours|days|weeks|weekends|months|quarters|years",
    seasons=(r"spring|springtime", r"summers?|summertime", r"autumn|fall", r"winters?|wintertime"),
    until_now=r"past",
    last=r"last|previous|preceding|prior|most recent",
    before_last=r"before last",
    this=r"this|current|these",
    following=r"next|every|each|coming|upcoming|following|most|any|all",
    since=r"(?:ever )?since|starting|beginning",
    between=r"between|from",
    to=r"to|until|till?|through|thru|up to",
    both=r"and|&",
    ago=r"ago|back|earlier",
    early=r"early|(?:the )?(?:beginning|start) of",
    middle=r"mid|(?:the )?middle of",
    late=r"late|(?:the )?end of",
    on=r"on",
    within=r"back in|in|of|during|over|at|by|within|for|throughout",
    not_times=r"(?:may|march) (?:be|have|i|we|you|he|she|it|they|not|also|of|with|against)"
    r"|spring (?:rolls?|onions?|cleaning)|sun ?(?:screen|cream|hat)|at last|last (?:names?|resort)"
    r"|back (?:pain|home|door)",
    fillers=r"the|about|around|roughly|just|whole|entire|full|very|exactly|morning|afternoon|evening|night",
    ordinals=(r"first", r"second", r"third", r"fourth"),
    ordinal_mark=r"st|nd|rd|th",
    numbers="a=1|an=1|one=1|two=2|three=3|four=4|five=5|six=6|seven=7|eight=8|nine=9|ten=10|eleven=11|twelve=12"
    "|thirteen=13|fourteen=14|fifteen=15|sixteen=16|twenty=20|thirty=30|forty=40|sixty=60|ninety=90"
    "|a couple of=2|couple of=2|a couple=2|couple=2|a few=0|few=0|several=0",
    past=r"did|was|were|had|have|has|happened|happen|said|told|\w{2,}ed|wrote|spoke|went|anything|everything",
    generic=r"know\w*|knew|talk\w*|discuss\w*|say|says|said|speak\w*|spoken?|chat\w*|mention\w*|conversations?|happen\w*|going|went"
    r"|summar\w+|recap|remember|remind|recall|tells?|told|everything|anything|something|things?|stuff|topics?|show"
    r"|list|give|find|wrote|write|ask\w*|cover\w*|came?|come|history|sessions?|overview|hear|together|mind|worr\w+|busy|please|let's"
    r"|chats?|messages?|exchang\w+|like|look|back|get|got|bring|brought|go|ones?|us|recent|new",
    months_need_preposition=True,
    years_need_preposition=True,
)
