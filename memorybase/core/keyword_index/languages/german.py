from __future__ import annotations

from memorybase.core.keyword_index.languages.date_words import DateWords
from memorybase.core.keyword_index.languages.definition import Language

GERMAN = Language(
    name="german",
    code="de",
    stop_words="der die das den dem des ein eine einen einem einer eines und oder aber denn doch ich du er sie es wir "
    "ihr mich dich sich uns euch mir dir ihm ihn ihnen mein meine meinen meinem meiner dein deine deinen deinem deiner "
    "sein seine seinen seinem seiner unser unsere unseren unserem ihre ihren ihrem ihrer euer eure ist sind bin bist "
    "war waren warst wäre wird werden wurde wurden habe hast hat haben hatte hatten hattest kann kannst können konnte "
    "soll sollte sollen muss müssen musste will wollte wollen mag möchte möchten darf dürfen nicht kein keine keinen "
    "nichts auch nur noch schon so wie was wer wo wann warum wieso welche welcher welches welchen welchem wem wen mit "
    "von vom zu zum zur für auf in im an am bei beim aus nach vor über unter durch um ohne gegen bis als dass weil "
    "wenn ob damit dann da dort hier jetzt mal sehr mehr man diese dieser dieses diesen diesem jede jeder jedes alle "
    "alles etwas sondern zwischen seit während wieder bitte ja nein eigentlich gerade ganz viel viele denn gibt gab",
    weak="die der den des an am in im so was war waren hat man will also mag bin bis da um es wer hier mal ja wo "
    "nur denn du er ob aus von des alle als",
    letters="äöüß",
    months="januar/jänner/januars februar/feber märz april mai juni juli august september oktober november dezember",
    weekdays="montag/montags dienstag/dienstags mittwoch/mittwochs donnerstag/donnerstags freitag/freitags "
    "samstag/sonnabend/samstags sonntag/sonntags",
    numbers="ein=1 eine=1 einem=1 einer=1 zwei=2 drei=3 vier=4 fünf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10",
    times=r"heute|gestern|vorgestern|morgen|übermorgen|neulich|kürzlich|seit|damals|wochenende"
    r"|(?:letzte|nächste|vorige|vergangene|diese)[nrs]? (?:woche|monat|jahr|nacht|tag|sommer|winter|herbst|frühling)"
    r"|\w*uhr|morgens|abends|mittags",
    asks_time=r"wann|seit wann|bis wann|wie lange|um wie viel uhr|wie spät"
    r"|(?:an )?welche[nmrs]? (?:tag|datum|jahr|monat|uhrzeit|wochentag)",
    asks_number=r"wie ?viele?|wie oft|wie alt|wie lange|wie hoch|wie teuer|wie groß|wie weit|was kostet\w*",
    asks_about_person=r"{any}(?:weißt|wisst|wissen|hast|habt|haben|merkst|erinnerst|kennst|erinnern) (?:du"
    r"|ihr|sie) (?:\S+ ){0,3}(?:(?:über|von|zu|an) (?:mich|mir)|bei mir)(?: (?:gemerkt|gespeichert|gelernt"
    r"|erfahren|notiert|behalten|alles|schon|bisher|noch|herausgefunden|so))*|{any}(?:du|ihr"
    r"|sie) (?:\S+ ){0,3}(?:über|von|zu) (?:mich|mir) (?:(?:alles|schon|bisher|noch|so) )*(?:weißt|wisst"
    r"|wissen|(?:gemerkt|gespeichert|gelernt|erfahren|notiert) (?:hast|habt|haben))|{any}(?:kannst|könntest"
    r"|könnt|können|könnten) (?:du|ihr|sie) (?:\S+ ){0,3}(?:über|von|an) (?:mich|mir)(?: selbst)? (?:erzählen"
    r"|sagen|erinnern)|{any}(?:dir|ihnen|euch) (?:\S+ )?über mich (?:\S+ )?bekannt(?: ist)?"
    r"|(?:\S+ )?(?:erzähle?|sage?|beschreibe?|nenne?|zeige?)(?: sie)?(?: mir)?(?: \S+)? (?:über|von) (?:mich"
    r"|mir)(?: selbst)?|(?:weißt du |sag mir |und |also )?wer (?:ich bin|bin ich)(?: eigentlich| denn"
    r"| für dich)?|was für ein mensch bin ich|beschreibe? mich|(?:was|welche|wie) (?:sind|ist"
    r"|lauten) (?:meine?|all meine) (?:persönlichen )?(?:vorlieben|präferenzen|interessen|hobbys|gewohnheiten"
    r"|wünsche|abneigungen)|welche (?:vorlieben|interessen|hobbys) habe ich|(?:zeige? (?:mir )?"
    r"|was steht in )?(?:mein(?:em)? profil|meine vorlieben)|(?:wie gut )?kennst du mich(?: noch| schon)?"
    r"|erinnerst du dich (?:noch )?an mich|wie würdest du mich beschreiben",
    about_topics=("(?:über|von|zu|an) {topic}=über mich",),
    area_of_life=r"(?:mein\w*|unser\w*) (?:job|arbeit|arbeitsleben|beruf\w*|familie|angehörigen|zuhause|"
    r"haushalt|gesundheit|ernährung|essgewohnheiten|hobbys?|freizeit|sport|interessen|"
    r"vorlieben|gewohnheiten|studium|ausbildung|schule|finanzen|geld|freunde\w*|alltag|leben)",
    lasting=r"ich (?:bin|habe?|hab|wohne|lebe|arbeite|heiße|studiere|spreche|spiele|fahre|leite|mag|hasse"
    r"|liebe|esse|trinke|nehme|vertrage|brauche|kann|darf|nutze|verwende|bevorzuge|möchte|will)|(?:bin|habe?"
    r"|wohne|arbeite|esse|trinke|mag) ich|wir (?:sind|haben|wohnen|leben|nutzen)|(?:mein"
    r"|unser)\w* (?:\S+ ){1,3}(?:ist|sind|heißt|heißen|hat|haben|liegt|wohnt|arbeitet)|nenn mich|(?:lieber"
    r"|immer|nie|niemals)",
    first_person=r"ich|mich|mir|mein\w*|wir|uns|unser\w*",
    asks_other_side=r"(?:hast|hattest|warst) du|haben sie (?:mir|uns)|du (?:mir|uns) \w+"
    r"|du (?:empfohlen|vorgeschlagen|gesagt|erwähnt|geraten|geschrieben|erklärt)",
    ordinal=r"\.",
    name_endings={"s": ""},
    asks_first=r"zum (?:aller)?ersten ?mal|zuerst|als erstes|anfangs|am anfang|ursprünglich|das erste mal|(?:mein"
    r"|dein|sein|ihr|unser)e?[nrsm]? erste[nrsm]? (?!(?:entwurf|name|version|sprint|kapitel|woche|tag|phase"
    r"|schritt|runde|teil|wahl|sprache|artikel|hälfte|platz|nacht)\w*)\w+",
    asks_latest=r"zuletzt|(?:zum letzten|das letzte) mal|(?:neueste|jüngste|aktuellste)[nrsm]?|(?:mein|dein|sein"
    r"|ihr|unser)e?[nrsm]? letzte[nrsm]? (?!(?:name|nacht|woche|monat|jahr|sommer|winter|teil|kapitel"
    r"|schritt)\w*)\w+"
    r"|das letzte,? was|als letztes|letzte[nrsm]? (?:frage|nachricht|bitte|thema|gespräch|satz|sache|wunsch)",
    asks_order=r"in welcher (?:zeitlichen )?reihenfolge|chronolog\w+|zeitachse|zeitliche[nr]? (?:ablauf|abfolge)"
    r"|(?:liste|nenn|zeig|sag|gib|ordne)\w*\b.{0,80}\breihenfolge",
    asks_what=r"^\W*(?:was (?:ist|war|sind)|wie (?:lautet|ist|sind|war)|welche[rsmn]?)",
    asks_otherwise=r"vorher|zuvor|früher\w*|ursprünglich\w*|anfangs|am anfang|zuerst|damals|bevor|erste[ns]? mal"
    r"|vergl[ie]+ch\w*|unterschied\w*|zwischen|veränder\w+|geändert|änder\w+|entwickel\w+|verbesser\w+"
    r"|von \d.{0,20} (?:auf|zu|bis)|empf[aeio]hl\w*|empfiehl\w*|gesagt|vorgeschlagen|geraten|soll(?:te)?n?"
    r"|als ich|(?:kannst|könntest|würdest) du|(?:kann|könnte|können|könnten) (?:ich|wir)",
    tells_change=r"jetzt|nun|inzwischen|mittlerweile|neuerdings|seit kurzem|statt|stattdessen|anstatt|anstelle"
    r"|nicht mehr(?! als)|neue?[nrsm]?|doch (?:nicht|erst|schon|lieber|am|um|auf)|verschoben|verschiebt|verleg\w+"
    r"|vorverlegt|vertagt|geänder\w+|ändert|korrektur|korrigier\w+|umgestellt|umgestiegen|umgezogen|gewechselt"
    r"|ersetzt|aktualisier\w+|erhöh\w+|angehoben|aufgestockt|gestiegen|gesenkt|gesunken|reduzier\w+|gekürzt"
    r"|verkürzt|verlängert|verspätet",
    tells_return=r"wieder|zurück\w*|erneut|nochmals?|abermals",
    denies=r"nicht(?! nur)|kein\w*|nie|niemals|weder",
    supposes=r"wenn|falls|sofern|ob|würde\w*|wäre\w*|könnte\w*|hätte\w*|vielleicht",
    conjunctions="und aber weil denn während obwohl sondern sodass wobei",
    percent=r"{n} ?prozent",
    clock=r"{t} ?uhr(?: \d\d)?",
    past_day=r"letzte[nrms]?|vorige[nrms]?|vergangene[nrms]?|diese[nrms]?",
    day_alone=r"(?:am|zum|vom|den) {d}\.(?! ?(?:\d|mal|tag|abend|sprint|spieltag|kapitel))",
    counted=r"wie ?viele (\w+)",
    folds={"ß": "ss", "ẞ": "ss"},  # as they are folded, so that patterns have them too
    hints="gestern vorgestern heute woche wochen wochenende letzten letzte letztes monat jahr",
    dates=DateWords(
        today=r"heute|heut|heute (?:früh|morgen|abend|nacht|mittag)",
        yesterday=r"gestern|gestern (?:früh|morgen|abend|nacht|mittag)|letzte nacht",
        day_before=r"vorgestern|vorgestern (?:früh|abend)",
        units={
            "day": r"tage?n?",
            "week": r"wochen?",
            "weekend": r"wochenenden?|wochenendes",
            "month": r"monate?[ns]?",
            "quarter": r"quartale?n?s?",
            "year": r"jahre?[ns]?",
            "hour": r"stunden?",
        },
        plurals=r"tagen?|tage|wochen|monaten?|jahren?|stunden",
        seasons=(r"frühling\w*|frühjahrs?", r"sommers?", r"herbst\w*", r"winters?"),
        last=r"(?:letzte|vorige|vergangene)[nrms]?",
        before_last=r"vorletzte[nrms]?",
        this=r"diese[nrms]?",
        following=r"(?:nächste|kommende|jede|alle)[nrms]?|immer",
        since=r"seit(?:dem)?",
        between=r"zwischen",
        to=r"bis(?: zum)?",
        both=r"und",
        ago=r"vor",
        early=r"anfang|beginn",
        middle=r"mitte",
        late=r"ende",
        on=r"am",
        within=r"innerhalb|im|in|während|über|des",
        fillers=r"vo[nm]|de[rmns]|die|das|etwa|ungefähr|rund|circa|ganzen?|gerade",
        ordinals=(r"erste[nrsm]?", r"zweite[nrsm]?", r"dritte[nrsm]?", r"vierte[nrsm]?"),
        numbers="elf=11|zwölf=12|vierzehn=14|fünfzehn=15|zwanzig=20|dreißig=30"
        "|ein paar=0|einem paar=0|paar=0|einigen=0|einige=0|mehreren=0",
        past=r"hab(?:e|en|t)?|hast|hat(?:te\w*)?|war(?:en|st)?|wurden?|bin|sind|gab|\w*ge\w{2,}(?:t|en)|sagten?|lief",
        months_need_preposition=True,
        generic=r"weiss\w*|wissen|kenn\w+|erinner\w*|beschäftigt\w*|"
        r"worüber|worum|wovon|\w*(?:gesprochen|geredet|gesagt|besprochen|unterhalten)|reden|sprechen|sagen"
        r"|sagten?|gespräche?[ns]?|unterhaltung(?:en)?|thema|themen|los|passiert\w*|geschehen|ging|gemacht|erzähl\w*"
        r"|zusammen\w*|fass\w*|zeig\w*|nenn\w*|erwähn\w*|nachrichten|gefragt|geschrieben|machten|sprachen|redeten",
    ),
)
