from __future__ import annotations

from memorybase.core.keyword_index.languages.date_words import DateWords
from memorybase.core.keyword_index.languages.definition import YEAR, Language

# Of questions about the person who asks: "what do you know about me?".
_ABOUT = r"(?:about|of|on|regarding) (?:me|myself)"
_KNOW = (
    r"(?:know|remember|recall|learn(?:ed|t)?|understand|remembering|tell me|say|picked up|noticed|found out"
    r"|gather(?:ed)?|figured out|stored?|saved?|noted?|keep|kept|have|have got|got)"
)
_THINGS = r"(?: (?:any|every|some)thing| all| a lot| much| so far| already| stored| saved| noted| on file| in memory)*"
_PLEASE = (
    r"(?:(?:please|now|so|and|then|hi|hey|ok|just|first|(?:can|could|would|will) you|i(?:'d| would) like you to"
    r"|want you to) )*"
)
_TELL = (
    r"(?:tell|remind|describe|summari[sz]e|show|list|say|give)\b(?: (?:me|us|it|back|what|whatever|that|you|know"
    r"|remember|have|all|more|an?|bit|little|short|brief|quick|full|overview|description|summary|(?:any|every"
    r"|some)thing))*"
)
_INFORMATION = r"(?:information|info|data|facts?|details?|memor(?:y|ies)|knowledge|notes?|things)"
_PREFERENCES = r"(?:preferences|likes and dislikes|likes|dislikes|interests|hobbies|habits|tastes|personality)"
_SO_FAR = (
    r"(?: (?:so far|already|now|again|yet|by now|today|please|then|until now|up to now|at this point|at all|exactly"
    r"|in general|(?:in|from|over|during) (?:the|our|earlier|previous|past)(?: \w+){1,2}))*"
)
_ASKS_ABOUT_PERSON = (
    rf"{{any}}(?:you|u|we)(?:'ve)? (?:(?:need|have|ought) to |(?!to )\w+ )?{_KNOW}{_THINGS} {_ABOUT}",
    (
        rf"{{any}}{_INFORMATION}(?: (?:do |did |have |that |which )?you (?:\w+ ){{0,2}}\w+| (?:is|are) \w+| stored"
        rf"| saved)? {_ABOUT}"
    ),
    rf"{_PLEASE}{_TELL} {_ABOUT}",
    rf"what(?:'s| is| has been) (?:known|stored|saved|noted|recorded) {_ABOUT}",
    rf"{_PLEASE}(?:describe|summari[sz]e) me(?: in \S+ \S+)?",
    (
        rf"(?:what|everything|anything|all|things|which \w+|what \w+) {_ABOUT} (?:that )?(?:(?:do|have|did|can) )?"
        r"(?:you|we)(?:'ve)? (?:\w+ )?(?:know|remember|recall|learned|stored|saved|noted)"
    ),
    (
        rf"(?:what|anything|everything|all)(?: else)? (?:that )?(?:have |did )?i(?:'ve)? (?:\w+ )?(?:told|tell) you"
        rf" {_ABOUT}"
    ),
    (
        r"(?:(?:so|and|then|ok|tell me|remember|(?:do|can|could) you (?:\w+ )?(?:know|remember|tell me|say)) )?"
        r"who (?:am i|i am|do you think i am|am i to you)"
    ),
    (
        r"(?:(?:and|so|list|show|tell|remind|give|me|of|do you know) )*(?:(?:what|which)(?:'s| is| are)? )?"
        rf"my (?:personal |own )?{_PREFERENCES}"
    ),
    rf"(?:what|which) {_PREFERENCES} do i have|what do i (?:like|prefer|dislike|hate)(?: to do)?",
    r"(?:(?:show|open|list|give|see|me|the) )*my (?:user |personal )?profile|about me",
    r"what(?:'s| is| does)? (?:in |on )?my (?:user |personal )?profile(?: say| contain| look like)?",
    (
        r"{any}(?:what (?:kind|sort|type) of (?:person|human|user|man|woman) am i|how (?:would|do|can) you (?:describe"
        r"|see|characteri[sz]e) me|how (?:well|much) do you know me|do you (?:still |even |really |already )?(?:know"
        r"|remember|recogni[sz]e) me|what am i like)"
    ),
)
# "My first sprint" and "the first draft" name one of a series, wherever it was mentioned.
_SERIES = (
    r"(?:sprint|draft|name|half|venue|chapter|aid|article|place|version|phase|step|round|weekend|week|day|night|part"
    r"|choice|language)\b"
)
_CHANGING = (
    r"(?:mov|switch|chang|postpon|rais|lower|increas|decreas|replac|renam|reschedul|transfer|upgrad|extend|delay"
    r"|reduc|cut|promot|quit|leav|left|sell|sold|join|start|stop|becom|relocat|push|take over|rise|ris|go up)\w*"
)
_ADVERBS = r"(?:(?:also|now|currently|still|just|really|actually|usually|normally|always|never|only|mostly|already) )*"

ENGLISH = Language(
    name="english",
    code="en",
    stop_words="a about after also am an and any are as at be because been before being between both but by can could "
    "did do does don down during each few for from further had has have he her here hers him his how i if in into is "
    "it its just like ll m me more most my no nor not now of off on once only or other our out over own re s same she "
    "should so some such t than that the their them then there these they this those to too up ve very was we were "
    "what when where which who whom why will with won would you your d",
    months="january february march april may june july august september october november december",
    weekdays="monday tuesday/tue/tues wednesday thursday/thu/thur/thurs friday/fri saturday sunday",
    not_alone="may tue tues thu thur thurs fri",
    numbers="one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10",
    further_numbers="once|twice|few|several|many|couple",
    digits_alone=r"\b\d+\b",
    year_alone=rf"\b{YEAR}\b",
    times=r"yesterday|today|tonight|tomorrow|ago|recently|since|weekend"
    r"|(?:last|next|this|past|few|couple of) (?:night|morning|days?|weeks?|weekends?|months?|years?|spring|summer"
    r"|autumn|fall|winter|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|for \w+ years|may \d|\d{1,2}(?:st|nd|rd|th)",
    asks_time=r"^\W*(?:(?:by|from|since|until|till) )?when|(?:what|which) (?:date|year|month|day|weekday|time)"
    r"|how long",
    asks_number=r"how (?:many|much|often|old|long)",
    asks_about_person=f"(?:{'|'.join(_ASKS_ABOUT_PERSON)}){_SO_FAR}",
    about_topics=("(?:about|of|on|regarding) {topic}=about me",),
    area_of_life=r"(?:my|our) (?:own |personal |private |professional |family |social |daily |everyday )?(?:job|work"
    r"|working life|occupation|profession|career|family|relatives|home|household|health|diet|food|eating habits|hobby"
    r"|hobbies|free time|leisure|sports?|interests|likes|dislikes|preferences|tastes|habits|routine|studies|education"
    r"|school|finances|money|friends|background|life)"
    r"|what i (?:eat|like|do|do for a living)|(?:where|how) i (?:live|work)",
    lasting=rf"(?:i'm|i am|we're|we are) {_ADVERBS}(?:(?:an? |the |\d|in my |on (?:a|the) ).*"
    r"|[a-z]+(?:ian|ist|er|or|ed|ic|ant|gan)|from|based|responsible|studying|working|living)"
    rf"|(?:i|we) {_ADVERBS}(?:have|live|work|study|teach|run|own|manage|lead|speak|play|swim|cycle|drive|commute|use"
    r"|report|prefer|hate|love|like|want|need|eat|drink|take|keep|do|go|come|grew|moved|stopped|quit|started|joined"
    r"|switched|married|don't|do not|can't|cannot)|(?:i've|we've) (?:got|had|been|moved|stopped|left|started|joined"
    r"|switched)"
    r"|(?:my|our) (?:[\w'-]+ ){1,4}?(?:is|are|was|has|have|lives?|works?|goes|likes?|hates?|needs?|comes?)"
    r"|(?:call me|my name|remember|keep in mind|always|never|from now on|prefer\w*|allergic|allergy)",
    lasting_names=rf"(?i:i'm|i am|we're|we are) (?i:{_ADVERBS})[A-Z].*",
    first_person=r"i|me|my|mine|myself|we|us|our|ours",
    asks_other_side=r"(?:did|have|had|were) you"
    r"|(?<!can )(?<!could )(?<!would )(?<!will )(?<!please )you (?:recommend|suggest|said|told|mention|gave|explain"
    r"|list|provid|propos|advis|offer|show|describ|wrote)\w*",
    # What the other side said is no topic of the person's: "What did you say about my job?"
    other_side_of_topic=r"did you|you (?:say|said|tell|told)\b(?! me what)",
    asks_help=r"(?:can|could|would) you|how (?:should|do|can) (?:i|we)|(?:should|shall) (?:i|we)|what (?:\w+ )?should"
    r"|suggest|recommend|show me|explain|help (?:me|us)|i'm|i am|i need"
    r"|^\W*(?:please|add|book|draft|find|make|plan|write)",
    asks_to_recall=r"summar\w*|order|timeline|conversations?|(?:did|have|had) i|i (?:said|told|mentioned|asked)",
    asks_first=rf"(?:my|his|her|their|our|your|\w+'s) (?:very )?first (?!{_SERIES}).*|first (?:time|thing)"
    r"|first (?:start|mention|talk|visit|watch|meet|met|went|go|ask|try|tried|see|saw|hear|read|play|join|use|learn)\w*"
    r"|originally|in the beginning|at first",
    asks_latest=r"latest|most recent(?:ly)?|newest|last (?:time|thing)"
    r"|(?:my|his|her|their|our|your|\w+'s) last (?!name|night|week|weekend|month|year|summer|winter|spring|autumn"
    r"|fall|(?:mon|tues|wednes|thurs|fri|satur|sun)day|few|part|chapter|step|one|two|three)\w+"
    r"|last \w+ (?:that |which )?(?:i|we|you) (?:\w+ )?(?:said|told|asked|mention|wr[io]te|talk|discuss|want|did"
    r"|spoke)\w*"
    r"|(?:say|ask|tell|told|talk|discuss|mention|write|speak|suggest|do)(?: \w+){0,2} last\W*$"
    r"|(?:i|we|you) last (?:said?|say|ask|tell|told|talk|discuss|mention|wrote|write|sp[eo][ak])\w*",
    asks_order=r"in (?:what|which) order|chronolog\w+|timeline|brought up"
    r"|(?:list|walk me through|tell me|show me|give me|what is|what was)\b.*\border",
    asks_what=r"^\W*what(?:'s| is| was| does| did)",
    # Both statements are wanted, in their order.
    asks_otherwise=r"initial(?:ly)?|original(?:ly)?|at first|in the beginning|used to|before|previous(?:ly)?|earlier"
    r"|first (?:time|thing)|very first|(?:my|our|the|his|her|their) (?:old|former)|between|improve\w*|happened"
    r"|difference|compar\w+|when i|from .{1,30} to|how ha(?:s|ve)|changed?|changes|evolv\w+|(?:did|have|had) you"
    r"|should|recommend|(?:can|could|would) (?:you|i|we)",
    corrects_other_side=True,
    seeks_date=r"^\W*(?:(?:by|from|since|until|till|on) )?(?:when|which (?:date|day|evening)s?)"
    r"|(?:what|which) (?:date|year|month|days?|weekday|time|evenings?)|wh(?:at|ich)\b.*\bdeadline",
    seeks_amount=r"how (?:many|much|often|old|long|fast|big|high|far|large)"
    r"|wh(?:at|ich)\b.*\b(?:average|total|quota|number|volume|budget|limit|price|cost|rate|count|version|score|weight"
    r"|size)",
    seeks_percent=r"percent(?:age)?",
    seeks_name=r"who|whom|whose|where|which",
    counted=r"how many ((?:\w+ )?\w+)",
    tells_change=r"now|instead|no longer|any ?more|changed|mov(?:ed|ing)|switch(?:ed|ing)|replaced|updat(?:e|ed|es)"
    r"|upgraded|new|newly|increased|decreased|raised|reduced|extended|rescheduled|postponed|put off|pushed (?:back|to)"
    r"|correct(?:ion|ed)|actually|after all|these days|by now|revis\w+|recently|improved|reached|since last"
    r"|takes? over|took over|goes up|went up|gone up|down to|up to|news|meanwhile|not what i said|delayed"
    r"|earlier than|later than",
    tells_own_change=r"now|no longer|any ?more|instead|new|moved|changed|switched|since|currently|meanwhile|stopped"
    r"|renamed",
    tells_return=r"again|back (?:to|at|on|in|with)|revert\w*|return(?:ed|s|ing)? to|restored|reinstated|once more"
    r"|as before",
    denies=r"no|not|never|none|nothing|without|cannot|don't|doesn't|didn't|isn't|won't",
    denies_by_words=True,
    denies_change=r"(?:(?:not|never|want(?:s|ed)? to|plan(?:s|ned|ning)? (?:to|on)|think(?:s|ing)? (?:of|about)"
    r"|consider(?:s|ing)?|hop(?:e|es|ing) to|going to|like to|might|may|could|would|should|will)|\w*n't|\w*'(?:d|ll))"
    rf"(?: (?!only)\w+){{0,3}}? {_CHANGING}",
    supposes=r"if|whether|unless|(?:i|we|you|they|he|she|it)'d be|would be",
    begins_supposing=r"^\W*(?:but |and |so )?(?:if|what if|suppos\w+|imagine|assum\w+|unless)",
    begins_asking=r"^\W*(?:(?:but|and|so) )?(?:should|would|will|has|have|had|is|are|was|were|does|did|do)",
    given=r"since|because|now that|given that",
    sentence_ends=r"(?<=[.!?;])(?<!\bMr\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bMrs\.)\s+",
    question_end=r"\?\s*$",
    omits_quotations=True,
    conjunctions="and but so because while whereas although",
    joining="and",
    capital_begins_clause=False,
    compounds_are_words=True,
    unit=r"[^\W\d_]{2,}",
    # How values are written: corrections.values reads those of English, with names, by patterns of its own.
    percent="",
    day_alone="",
    past_day="",
    clock="",
    dates=DateWords(
        short_months="jan feb mar apr may jun jul aug sep/sept oct nov dec",
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
        fraction_marks="/",
    ),
)
