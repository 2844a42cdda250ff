from __future__ import annotations

from memorybase.core.keyword_index.languages.date_words import DateWords
from memorybase.core.keyword_index.languages.definition import Language

FRENCH = Language(
    name="french",
    code="fr",
    stop_words="le la les l un une des du de d au aux et ou mais donc or ni car je tu il elle on nous vous ils elles "
    "me te se m t s moi toi lui leur leurs eux y en mon ma mes ton ta tes "
    "son sa ses notre nos votre vos ce cet cette "
    "ces c ça cela ceci qui que quoi dont où qu quel quelle quels quelles "
    "quand comment pourquoi combien est sont suis "
    "es sommes êtes était étaient étais été être sera serait ai as a avons "
    "avez ont avait avais avaient avoir eu aura "
    "fait faire fais faut peut peux pouvez pouvoir pourrait veux veut vouloir dois doit devez ne n pas plus jamais "
    "rien aussi très bien même si tout tous toute toutes dans sur sous avec sans pour par chez entre vers depuis "
    "pendant avant après contre à comme puis alors ici là encore déjà toujours peu trop oui non j parce afin lors "
    "celui celle ceux plusieurs chaque autre autres",
    weak="dont le la les un de d me te se m t s y en on or car a son ton mon sa "
    "ma es sur plus pour par tout comment as des "
    "du il si entre sera no si ni et ou pas ne son bien fait est",
    letters="çœêèàùâîôûëïé",
    months="janvier février/fevrier mars avril mai juin juillet août/aout septembre octobre novembre décembre/decembre",
    weekdays="lundi mardi mercredi jeudi vendredi samedi dimanche",
    numbers="un=1 une=1 deux=2 trois=3 quatre=4 cinq=5 six=6 sept=7 huit=8 neuf=9 dix=10",
    times=r"hier|avant-hier|aujourd'hui|demain|après-demain|récemment|depuis|week-end|weekend|ce (?:matin|soir)"
    r"|(?:semaine|mois|année|an|été|hiver|automne|printemps|nuit) (?:derni(?:er|ère)|prochaine?|passée?)|il y a|\d+ ?h",
    asks_time=r"quand|depuis quand|jusqu'à quand|combien de temps|à quelle heure"
    r"|quel(?:le)? (?:jour|date|année|mois|heure)",
    asks_number=r"combien|quel âge|à quel prix|quelle (?:somme|taille|quantité|hauteur|distance)|quel (?:montant|prix)",
    asks_about_person=r"{any}(?:qu')?(?:(?:tu|vous)(?: te| vous)? (?:sais|savez|connais|connaissez|as|avez"
    r"|souviens|souvenez|retiens|retenez)|tu t'es|(?:tu peux|vous pouvez|peux-tu|pouvez-vous) me dire|(?:sais"
    r"|savez|as|avez|retiens|retenez|souviens|souvenez|connais)-(?:tu|vous))(?: (?:déjà|exactement|vraiment"
    r"|appris|retenu|noté|mémorisé|enregistré|encore|tout|quoi|quelque chose|des choses))* (?:(?:de|sur"
    r"|à propos de) moi|à mon sujet|sur mon compte)(?: jusqu'ici)?|(?:s'il te plaît )?(?:parle|parlez)(?:-moi"
    r"|-nous)? de moi(?:-même)?|(?:décris|décrivez)-moi|(?:sais-tu |(?:est-ce que )?tu sais |dis-moi |et "
    r"|alors )?qui (?:suis-je|je suis|est-ce que je suis)|(?:quel(?:le)?s"
    r"|c'est quoi) (?:sont )?mes (?:préférences|preferences|goûts|intérêts|centres d'intérêt|habitudes"
    r"|loisirs)|(?:montre(?:-moi)? |affiche )?(?:mon profil|mes préférences)"
    r"|(?:est-ce que )?tu me connais(?: bien)?|me connais-tu|comment (?:me décrirais-tu|tu me décrirais)",
    about_topics=("(?:d'|(?:de|du|des|sur|à propos d(?:e|u|es)) ){topic}=de moi",),
    area_of_life=r"(?:mon|ma|mes|notre|nos) (?:travail|boulot|métier|emploi|profession|carrière|famille|"
    r"proches|foyer|santé|alimentation|régime|hobbys?|loisirs|passe-temps|temps libre|sport|"
    r"intérêts|centres d'intérêt|préférences|goûts|habitudes|études|formation|école|finances|"
    r"argent|amis|quotidien|vie)(?: privée| professionnelle)?",
    lasting=r"je (?:suis|vis|travaille|étudie|parle|joue|dirige|préfère|déteste|mange|bois|prends|dois|peux"
    r"|veux|viens|m'appelle|ne \S+ (?:pas|jamais|plus))|j'(?:ai|habite|aime|adore|utilise|étudie|enseigne)"
    r"|(?:nous|on) (?:sommes|avons|habitons|est|a|habite|ferme|ouvre)|(?:mon|ma|mes|notre"
    r"|nos) (?:\S+ ){1,3}(?:est|sont|s'appelle\w*|a|ont|habite|travaille)|appelle-moi|c'est moi|moi c'est"
    r"|toujours|jamais|plutôt",
    first_person=r"je|j'\S*|me|m'\S*|moi|mon|ma|mes|nous|notre|nos|on",
    asks_other_side=r"(?:as|avais)-tu|tu (?:as|avais|m'as|m'avais|nous as)|(?:avez|aviez)-vous"
    r"|vous (?:m'avez|nous avez)",
    ordinal=r"er",
    of=r"de ",
    elided="l d j m t s c n qu jusqu lorsqu puisqu",
    asks_first=r"(?:la )?première fois|en premier|au (?:tout )?début|à l'origine|initialement|(?:mon|ma|mes|son"
    r"|sa|ses|notre|nos) premi(?:er|ère)s? (?!(?:version|nom|chapitre|semaine|jour|sprint|étape|partie|choix"
    r"|brouillon|langue|article|place|nuit|phase|tour)s?\b)\w+",
    asks_latest=r"la dernière fois|en dernier|l[ea]s? plus récent(?:e|s|es)?|(?:mon|ma|mes|son|sa|ses|notre"
    r"|nos) derni(?:er|ère)s? (?!(?:nom|nuit|semaine|mois|an|année|été|hiver|partie|chapitre|étape)s?\b)\w+"
    r"|la dernière chose|dernière? (?:question|message|sujet|conversation|demande|phrase|échange)",
    asks_order=r"dans quel ordre|chronolog\w+|(?:liste|donne|montre|énumère|dis|classe)\w*\b.{0,80}\bordre",
    asks_what=r"^\W*(?:quel(?:le)?s? (?:est|était|sont)|à combien)",
    asks_otherwise=r"avant|auparavant|précéde\w+|autrefois|au (?:tout )?début|au départ|à l'origine|initial\w*"
    r"|à l'époque|première fois|différence|entre|compar\w+|chang\w+|évolu\w+|amélior\w+|de \d.{0,20} à"
    r"|recommand\w+|conseill\w+|suggér\w+|propos\w+|dit|devrai[st]|devrions|dois-je|(?:peux|pourrais|peut|pouvez"
    r"|pourriez)-(?:tu|vous|je|on)|puis-je",
    tells_change=r"maintenant|désormais|dorénavant|plutôt (?:à|au|le|la|que)|à la place|au lieu d[eu]?|n(?:e "
    r"|').{1,30} plus(?! (?:de|que|tard)| d')|finalement|en fait|entre-temps|(?<!de )(?<!à )nouveau"
    r"|nouvel(?:le)?s?|nouveaux|(?:chang|modifi|déplac|report|repouss|avanc|décal|remplac|augment|prolong"
    r"|déménag)(?:é\w*|e)|corrig\w+|correction|pass(?:e|ée?) (?:à|de) \d|baissé?\w*|rédui\w+|diminué?\w*"
    r"|actuellement|récemment|ces jours-ci",
    tells_return=r"(?:de|à) nouveau|re(?:venu|pass|mis|descend|mont)\w*|revien\w*|retour\w*"
    r"|comme avant|rétabli\w*|encore une fois|redevenu\w*",
    denies=r"(?<!oublie )(?<!oubliez )pas(?! seulement)|jamais|aucune?"
    r"|n(?:e |').{1,30} plus(?! (?:de|que|tard)| qu')",
    supposes=r"si|s'ils?|peut-être|\w{2,}erai(?:s|t|ent)|(?:se|au|pour|dev)rai(?:s|t|ent)|supposons|imaginons",
    conjunctions="et mais parce car alors tandis donc",
    percent=r"{n} ?pour ?cents?",
    clock=r"{t} ?h ?\d\d|(?:à|vers|dès) {t} ?h(?:eures?)?(?: ?\d\d)?",
    past_day=r"dernier|passé|ce",
    day_alone=r"le {d}(?=\s*(?:[.,;!?)]|$))",
    unclear="neuf",
    counted=r"combien d(?:e |')(?!temps|argent)(\w+)",
    hints="semaine semaines dernière dernier derniers dernières mois année",
    dates=DateWords(
        today=r"aujourd'hui|ce (?:matin|soir|midi)|cet après-midi|cette nuit",
        yesterday=r"hier(?: (?:soir|matin))?|la nuit dernière",
        day_before=r"avant-hier|avant hier",
        fortnight=r"quinzaines?(?! de)",
        units={
            "day": r"jours?|journées?",
            "week": r"semaines?",
            "weekend": r"week-ends?|weekends?|fins? de semaine",
            "month": r"mois",
            "quarter": r"trimestres?",
            "year": r"ans?|années?",
            "hour": r"heures?",
        },
        plurals=r"jours|semaines|ans|années|heures",
        seasons=(r"printemps", r"étés?", r"automnes?", r"hivers?"),
        last=r"derni(?:er|ère)s?|passée?s?|écoulée?s?|précédente?s?",
        before_last=r"avant-derni(?:er|ère)",
        this=r"ce|cet|cette|ces",
        following=r"prochaine?s?|chaque|tous les|suivante?s?|le (?=(?:lun|mar|mercre|jeu|vendre|same)di\b(?! \w*\d))",
        since=r"depuis(?: le| la| l')?|dès",
        between=r"entre",
        to=r"au|à|jusqu'(?:au?|en|à)",
        both=r"et",
        ago=r"(?:il )?y a",
        early=r"début|au début",
        middle=r"mi|milieu",
        late=r"fin",
        on=r"le",
        within=r"en|dans|pendant|durant|courant|au cours",
        fillers=r"ci|du|la|les|l|de|d|des|environ|toute?|dernier week-end de",
        ordinals=(r"premi(?:er|ère)", r"deuxième|seconde?", r"troisième", r"quatrième"),
        numbers="onze=11|douze=12|quatorze=14|quinze=15|une quinzaine de=15|une dizaine de=10"
        "|vingt=20|trente=30|quelques=0|plusieurs=0",
        past=r"ai|as|a|avons|avez|ont|était|étaient|avait|avaient|avions|sommes|est arrivée?|dit|parlé|discuté",
        months_need_preposition=True,
        generic=r"sais|sait|savez|conna\w+|rappel\w+|souvien\w*|préoccup\w+|occup\w+|"
        r"parl\w+|discut\w+|dit|dis|passée?|arrivée?|raconté?\w*|conversations?|discussions?|r[ée]sum\w+|propos"
        r"|sujets?|montre|donne|mentionn\w+|évoqu\w+|messages?|échange\w*|abord\w+|ensemble|choses?|demandé\w*|écrit",
        bare_days=True,
    ),
)
