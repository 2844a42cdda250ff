from __future__ import annotations

from memorybase.core.keyword_index.languages.date_words import DateWords
from memorybase.core.keyword_index.languages.definition import Language

DUTCH = Language(
    name="dutch",
    code="nl",
    stop_words="de het een en of maar want dus ik jij je u hij zij ze we wij jullie hen hun mij me jou hem haar ons "
    "onze mijn jouw uw zijn is ben bent was waren geweest wordt worden werd werden heb hebt heeft hebben had hadden "
    "gehad kan kunt kunnen kon konden zal zullen zou zouden moet moeten moest wil wilt willen wilde mag mogen niet "
    "geen niets niks ook nog al wel zo hoe wat wie waar wanneer waarom welke welk hoeveel met van voor op in aan bij "
    "uit naar over onder door om zonder tegen tot als dat die dit deze dan toen er daar hier nu eens heel erg meer "
    "veel weinig alle alles iets iemand niemand elk elke ieder iedere tussen sinds tijdens weer omdat terwijl zodat "
    "te ter ten toch even maar zelf ander andere ja nee graag gaat ging gaan doen doet deed",
    weak="want de me we was of in had over is ben en op die dit al er om te ten "
    "ter of hun kan wil zo wel men hem door u "
    "dan van tot as nu uit bij een met veel mag hier an hoe",
    letters="",
    months="januari februari maart april mei juni juli augustus september oktober november december",
    weekdays="maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
    numbers="een=1 één=1 twee=2 drie=3 vier=4 vijf=5 zes=6 zeven=7 acht=8 negen=9 tien=10",
    times=r"gisteren|eergisteren|vandaag|morgen|overmorgen|onlangs|pas geleden|sinds|weekend|geleden|vanavond|vannacht"
    r"|(?:vorige?|volgende?|afgelopen|deze) (?:week|maand|jaar|nacht|zomer|winter|herfst|lente)|\w+ uur",
    asks_time=r"wanneer|sinds wanneer|tot wanneer|hoe ?lang|hoe laat|(?:op )?welke? (?:dag|datum|jaar|maand|uur)"
    r"|in welk jaar",
    asks_number=r"hoeveel|hoe vaak|hoe oud|hoe ?lang|hoe hoog|hoe duur|hoe groot|hoe ver|wat kost\w*",
    asks_about_person=r"{any}(?:weet|herinner|onthoud|ken|kent|heb|hebt|hebben|weten) (?:je|jij|u"
    r"|jullie)(?: (?:je|zich|al|nog|allemaal|precies|eigenlijk|iets|nog))* (?:over|van) (?:mij|me|mezelf"
    r"|mijzelf)(?: (?:onthouden|opgeslagen|geleerd|bewaard|genoteerd|allemaal|al))*|{any}(?:je|jij"
    r"|u) (?:\S+ ){0,2}(?:over|van) (?:mij|me) (?:allemaal |al )?(?:weet|onthoudt|(?:onthouden|opgeslagen"
    r"|geleerd) hebt|hebt (?:onthouden|opgeslagen|geleerd))|{any}(?:kun|kan|kunt|zou) (?:je|jij|u) (?:me "
    r"|mij )?(?:over|van) (?:mezelf|mijzelf|mij|me) (?:vertellen|zeggen)|vertel(?: me"
    r"| mij)?(?: \S+){0,2} over (?:mezelf|mijzelf|mij|me)|beschrijf (?:me|mij)|(?:en |weet je "
    r"|dus )?wie (?:ben ik|ik ben)(?: eigenlijk)?|(?:wat zijn |toon )?mijn (?:voorkeuren|interesses|hobby's"
    r"|gewoontes|gewoonten|profiel)|(?:hoe goed )?ken je me(?: nog| al| goed)?|herinner je je mij(?: nog)?",
    about_topics=("(?:over|van) {topic}=over mij",),
    area_of_life=r"(?:mijn|m'n|ons|onze) (?:baan|werk|beroep|loopbaan|familie|gezin|thuis|huishouden|"
    r"gezondheid|dieet|voeding|eetgewoonten|eetgewoontes|hobby's|vrije tijd|sport|interesses|"
    r"voorkeuren|gewoonten|gewoontes|studie|opleiding|school|financiën|geld|vrienden|leven)",
    lasting=r"ik (?:ben|heb|woon|leef|werk|heet|studeer|spreek|speel|leid|houd|hou|haat|eet|drink|neem"
    r"|gebruik|wil|mag|kan|kom)|(?:ben|heb|woon|werk|eet|drink) ik|(?:wij|we) (?:zijn|hebben|wonen|gebruiken)"
    r"|(?:mijn|ons|onze) (?:\S+ ){1,3}(?:is|zijn|heet|heeft|woont|werkt)|noem me|liever|altijd|nooit",
    first_person=r"ik|mij|me|mijn|wij|we|ons|onze",
    asks_other_side=r"(?:heb|had|was) (?:je|jij)|hebt u|(?:je|jij) (?:me|mij|ons) \w+",
    ordinal="e",
    name_endings={"s": ""},
    asks_first=r"(?:voor het eerst|voor de eerste keer|de eerste keer)|als eerste|in het begin|aanvankelijk"
    r"|oorspronkelijk|(?:mijn|zijn|haar|onze?|hun) eerste (?!(?:versie|naam|hoofdstuk|week|dag|sprint|stap|deel"
    r"|keuze|concept|taal|artikel|plaats|nacht|fase|ronde)\b)\w+",
    asks_latest=r"(?:voor het laatst|de laatste keer|de vorige keer)|het laatst|meest recente?|nieuwste|recentste"
    r"|(?:mijn|zijn|haar|onze?|hun) laatste (?!(?:naam|nacht|week|maand|jaar|zomer|winter|deel|hoofdstuk"
    r"|stap)\b)\w+"
    r"|als laatste|het laatste (?:wat|dat)|laatste (?:vraag|bericht|onderwerp|gesprek|ding|zin)",
    asks_order=r"in welke volgorde|chronolog\w+|tijdlijn|(?:noem|geef|toon|som|zet|vertel)\w*\b.{0,80}\bvolgorde",
    asks_what=r"^\W*(?:wat (?:is|was|zijn)|welke?)",
    asks_otherwise=r"vroeger|voorheen|eerder\w*|vorige?|voordat|destijds|toen|oorspronkelijk\w*|aanvankelijk\w*"
    r"|in het begin|eerste keer|eerst|verschil\w*|tussen|verge?l[ei]+[jk]+\w*|verander\w*|gewijzigd|ontwikkel\w+"
    r"|verbeter\w+|van \d.{0,20} (?:naar|tot)|aanbev\w+|aangeraden|adviseer\w*|voorgesteld|gezegd|zei"
    r"|zou(?:den)? (?:ik|we)|moet (?:ik|ik nu)|(?:kun|kan|kunt|zou) (?:je|jij|u)|(?:kan|kunnen|mag) (?:ik|we)",
    tells_change=r"nu|inmiddels|tegenwoordig|voortaan|in plaats van|niet (?:meer|langer)(?! dan)|toch (?:niet|pas"
    r"|maar|liever|op|om)|nieuwe?|onlangs|verplaatst|verschoven|verzet|uitgesteld|vervroegd|gewijzigd|veranderd"
    r"|aangepast|gecorrigeerd|correctie|vervangen|overgestapt|verhuisd|bijgewerkt|verhoogd|verlaagd|gestegen"
    r"|gedaald|verminderd|verlengd|ingekort|eigenlijk|vertraagd",
    tells_return=r"weer|opnieuw|terug|alsnog",
    denies=r"(?<!vergeet )niet(?! alleen)|geen|nooit|noch",
    supposes=r"^\W*(?:(?:en|maar|dus|wat) )?als|indien|mits|zou(?:den)?|misschien|(?:weet|af) of|stel",
    conjunctions="en maar omdat want terwijl hoewel dus",
    percent=r"{n} ?procent",
    clock=r"(?:om|vanaf|rond) {t}(?: ?uur)?(?! (?:minuten|euro|procent|dagen|personen))",
    past_day=r"vorige|afgelopen|deze",
    day_alone=r"de {d}e|de {d}(?=\s*(?:[.,;!?)]|$))",
    counted=r"hoeveel (?!kost|zijn|waren|hebben|betalen|wegen|is|was)(\w+(?:en|s))",  # a noun in the plural, no verb
    hints="gisteren eergisteren vandaag vorige afgelopen geleden weken dagen maand jaar",
    dates=DateWords(
        today=r"vandaag|vanavond|vanochtend|vanmorgen|vanmiddag|vannacht",
        yesterday=r"gisteren(?:avond|ochtend|middag)?|gisteravond|gistermiddag|gisterochtend|afgelopen nacht",
        day_before=r"eergisteren",
        units={
            "day": r"dag|dagen",
            "week": r"week|weken",
            "weekend": r"weekend\w*",
            "month": r"maand|maanden",
            "quarter": r"kwartaal|kwartalen",
            "year": r"jaar|jaren",
            "hour": r"uur|uren",
        },
        plurals=r"dagen|weken|maanden|jaren|uren",
        seasons=(r"lente|voorjaar", r"zomers?", r"herfst|najaar", r"winters?"),
        last=r"vorige?|afgelopen|laatste|voorbije?",
        before_last=r"voorlaatste|eervorige",
        this=r"deze|dit",
        following=r"volgende?|komende?|elke?|iedere?|alle",
        since=r"sinds|vanaf|sedert",
        between=r"tussen",
        to=r"tot(?: en met)?|t/m",
        both=r"en",
        ago=r"geleden|terug",
        early=r"begin|vroeg in",
        middle=r"midden|half|medio",
        late=r"eind|einde|laat in",
        on=r"op",
        within=r"in|tijdens|gedurende|over",
        fillers=r"de|het|van|ongeveer|hele|zo'n|een(?= paar)",
        ordinals=(r"eerste", r"tweede", r"derde", r"vierde"),
        numbers="elf=11|twaalf=12|veertien=14|vijftien=15|twintig=20|dertig=30|paar=0|enkele=0|enige=0",
        past=r"heb|hebt|heeft|hebben|had|hadden|was|waren|werd|werden|is gebeurd|zei\w*|deed|deden|ge\w{2,}|ging"
        r"|gebeurde",
        months_need_preposition=True,
        generic=r"weet|weten|ken|kent|herinner\w*|bezig\w*|"
        r"waarover|gesproken|gepraat|besproken|gezegd|praten|spraken|praatten|zei|zeiden|gesprek\w*|gebeurd\w*"
        r"|gebeurde|gedaan|verteld?|vertel|samen\w*|vat|onderwerp\w*|noem\w*|genoemd|berichten|gevraagd|dingen|ging"
        r"|waar|gehad|overzicht|geschreven",
    ),
)
