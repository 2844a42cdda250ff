"""Weights of the token estimate: frequent words that are one token, and how likely a word is cut between two letters.

Fitted by least squares to o200k_base on English, code, JSON, UI texts in 20 European languages and random strings.
`bench/token_counts.py` measures the result.
"""

from __future__ import annotations

# One token with or without a space before it. The table below is fitted to all other words.
FREQUENT_WORDS = frozenset(
    (
        "abc above accepted add additional address advance after again algorithm already also always and annotations "
        "another answer answers any anything api append architecture arg args argument arguments argv assistant async "
        "attribute attributes available await background base before benchmark between binary block break browser "
        "buffer build built button bytes calls cannot capture captures category children chunk chunks claim client "
        "close code collection collections column columns command comment commit compile components conditions config "
        "configuration connection constructor contains context contributors conversation cookie copies copy copyright "
        "count create data database dataset debug decision def default define delete deleted dependencies deprecated "
        "description details development dir directories directory distributed distribution doc docs document "
        "documentation documents does domain done down download draft dtype each else embedded embedding end "
        "environment error evaluation every everything example except exception export expression external failed "
        "fails false field fields file filename files first fitness flags float flow fmt folder following for form "
        "format formatter found from fullname function future generation get github global globals goods half handle "
        "has have head help holds html http https identifier implementation implemented import include including "
        "index info information input inputs instead items job jobs join keep key keys keyword keywords kind "
        "knowledge known kwargs lambda language left legacy length letters level library like limit limitations "
        "limited line linux load loaded loads local lock locks look lookup made main make makes many map mapping "
        "match materials max maximum may message messages meta metadata method methods metrics milliseconds model "
        "models module modules most msg must name names namespace need needs network never new next node none not "
        "nothing notice notification notifications null number numbers object objects offset one only open optional "
        "org other otherwise out output outputs over own package packages people permission pkg platform position "
        "post prefix process processor project projection properties property props protocol provided purpose python "
        "quote raise random raw read ready records ref reference references registry report repository representation "
        "required requires reserved resolve result results retain return returns right rights run running runs "
        "runtime safe same sandbox schema scope script search second seconds see self server service services session "
        "sessions set settings should simple single size skip snapshot software source spec special specific "
        "specified split sql sqlite src stack standard start started starts state statistics status store style "
        "summary support supported symbol syntax sys system table take takes target text that their they those thread "
        "threads three threshold through time timeout timestamp title token tokens tools torch total transaction "
        "transactions true tuple two type typing unknown update url utf utils uuid value values var variable vectors "
        "version view warnings web weights what when whether which while width will window windows with without words "
        "work worker workers works would write written yaml yield you your"
    ).split()
)

# Tenths of a token for two neighbouring letters: a row for the first, a column for the second, a to z, then any other.
CUTS = (
    "700136041730005150000233044",  # a
    "144304450241150552220766052",  # b
    "050204500600370240500575140",  # c
    "265105360853852552162355054",  # d
    "130022232652004200013010347",  # e
    "255320170753532462521465380",  # f
    "365405510863412470342677758",  # g
    "158404560652520453403355441",  # h
    "100030197221200032005092413",  # i
    "026405452402333436053366461",  # j
    "355307612835547668226658484",  # k
    "025206570830370589221376065",  # l
    "227106781765230157161575462",  # m
    "160111021722521565003166444",  # n
    "413130141851001130221212344",  # o
    "065206523740560060301375176",  # p
    "476479995993677744660787694",  # q
    "051100331621000011112536055",  # r
    "332402701714160235001356263",  # s
    "263105400813461480032755042",  # t
    "100104371850006260008477472",  # u
    "276606261856351466654635664",  # v
    "056405411853620271153412374",  # w
    "462624762786147157517493043",  # x
    "386936795962332187444856744",  # y
    "367716661866754588623856225",  # z
    "590360502933200342231149026",  # any other
)
