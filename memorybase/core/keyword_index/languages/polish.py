from __future__ import annotations

from memorybase.core.keyword_index.languages.date_words import DateWords
from memorybase.core.keyword_index.languages.definition import Language

POLISH = Language(
    name="polish",
    code="pl",
    stop_words="i a o w we z ze na do od po za u przez przed przy nad pod dla bez między ku oraz lub albo ale lecz "
    "więc że żeby aby bo ponieważ gdy kiedy jeśli jak co kto gdzie dlaczego czemu czy który która które którzy których "
    "którym której którego jaki jaka jakie ile ilu ja ty on ona ono my wy oni one mnie mi ciebie ci cię go jego jemu "
    "mu jej ją nas nam was wam ich im nimi się siebie sobie mój moja moje moich moim mojej mojego twój twoja twoje "
    "twoich swój swoja swoje swoich nasz nasza nasze ten ta to ci te tego tej temu tym tych tymi tam tu taki taka "
    "takie tak nie jest są jestem jesteś jesteśmy był była było były byłem byłam być będzie będą będę mam masz ma mamy "
    "mają miał miała miało mieć można może mogę możesz mogą trzeba powinien powinna chcę chce chciał nic coś ktoś nikt "
    "wszystko wszystkie każdy każda każde też także już jeszcze tylko bardzo dużo mało więcej mniej teraz potem "
    "wtedy zawsze nigdy znowu właśnie no proszę",
    weak="one i a o w we z na do od po za u on my to no ten ta te was im mu ma go co ale pod bez las ci tu tak dla ja "
    "im",
    letters="ąćęłńśźż",
    months="styczeń/stycznia/styczniu luty/lutego/lutym marzec/marca/marcu kwiecień/kwietnia/kwietniu maj/maja/maju "
    "czerwiec/czerwca/czerwcu lipiec/lipca/lipcu sierpień/sierpnia/sierpniu wrzesień/września/wrześniu "
    "październik/października/październiku listopad/listopada/listopadzie grudzień/grudnia/grudniu",
    weekdays="poniedziałek wtorek środa/środę czwartek piątek sobota/sobotę niedziela/niedzielę",
    numbers="jeden=1 jedna=1 dwa=2 dwie=2 trzy=3 cztery=4 pięć=5 sześć=6 siedem=7 osiem=8 dziewięć=9 dziesięć=10",
    times=r"wczoraj|przedwczoraj|dziś|dzisiaj|jutro|pojutrze|niedawno|ostatnio|weekend|temu|od \w+ lat"
    r"|(?:zeszł|przyszł|ubiegł|ostatni|następn)\w* (?:tydzień|tygodniu|miesiąc\w*|rok\w*|noc\w*|lato|lata|zim\w*)"
    r"|o (?:godzinie )?\d+",
    asks_time=r"kiedy|od kiedy|do kiedy|jak długo|o której|ile czasu"
    r"|(?:jakiego|którego|w którym|w jakim|jaki|który) (?:dnia|dniu|roku|miesiącu|dzień|rok|miesiąc)",
    asks_number=r"ile|ilu|jak często|jak długo|jak drog\w+|jak wysok\w+|jak daleko|ile lat",
    asks_about_person=r"{any}(?:o mnie|na mój temat) (?:(?:jeszcze|już|wszystko|dokładnie) )*(?:wiesz|wiecie"
    r"|pan wie|pani wie|pamiętasz|pamiętacie|zapamiętał[ea]ś|zapisał[ea]ś|masz|informacje|dane"
    r"|dowiedział[ea]ś się)|{any}(?:wiesz|wiecie|pan wie|pani wie|pamiętasz|pamiętacie|masz|zapamiętał[ea]ś"
    r"|zapisał[ea]ś)(?: (?:jeszcze|już|dokładnie|informacje|dane|zapisane|coś))* (?:o mnie"
    r"|na mój temat)(?: (?:informacje|dane|zapisane))*|{any}(?:możesz"
    r"|możecie) (?:mi )?(?:o mnie (?:powiedzieć|opowiedzieć)|(?:powiedzieć|opowiedzieć) (?:mi )?o mnie)"
    r"|opowiedz(?: mi)?(?: \S+)? o mnie|opisz mnie|(?:a |wiesz |powiedz )?kim (?:ja )?jestem(?: ja"
    r"| dla ciebie)?|(?:jakie (?:są|mam) )?(?:moje )?(?:preferencje|upodobania|zainteresowania|nawyki)"
    r"|(?:pokaż )?mój profil|(?:czy )?(?:mnie )?(?:znasz|pamiętasz)(?: mnie)?",
    about_topics=("(?:o|na temat) {topic}=o mnie",),
    area_of_life=r"(?:mo[ijm]\w*|nasz\w*) (?:pracy|zawodzie|karierze|rodzinie|bliskich|domu|zdrowiu|diecie|"
    r"odżywianiu|hobby|czasie wolnym|sporcie|zainteresowaniach|preferencjach|upodobaniach|"
    r"nawykach|studiach|nauce|szkole|finansach|pieniądzach|przyjaciołach|życiu)",
    lasting=r"(?:jestem|mieszkam|pracuję|studiuję|mówię|gram|mam|wolę|lubię|nienawidzę|jem|piję|biorę|używam"
    r"|nazywam się|mamy|mieszkamy|jesteśmy)|(?:mój|moja|moje|nasz\w*) (?:\S+ ){1,3}(?:jest|są|ma|mają"
    r"|nazywa\w*|mieszka\w*|pracuje)|uczulon[ya]|zawsze|nigdy|mów mi",
    first_person=r"ja|mnie|mi|mną|mój|moja|moje|mojego|mojej|moich|moim|moją|my|nas|nam|nasz\w*|jestem|mam"
    r"|mieszkam|pracuję|chcę|wolę|lubię|idę|mamy|jesteśmy|\w+(?:łem|łam|liśmy)",
    asks_other_side=r"(?:poleci|zapropon|powiedzi|doradzi|wspomni|radzi|suger|wyjaśni|mówi|proponow)\w*(?:łeś|łaś)"
    r"|\w+(?:łeś|łaś) (?:mi|nam)",
    name_endings={"y": "a", "ę": "a", "ą": "a", "ie": "a", "i": "a", "owi": "", "em": "", "a": "", "u": ""},
    asks_first=r"(?:po )?raz pierwszy|po raz pierwszy|pierwszy raz|najpierw|na początku|początkowo|pierwotnie"
    r"|(?:mój|moja|moje|mojego|mojej|jego|jej|nasz\w*) pierwsz\w+ (?!(?:wersj|imi|rozdział|tydzie|tygod|dzień"
    r"|dnia|sprint|krok|częś|wybór|szkic|język|artykuł|miejsc|noc|faz|rund)\w*)\w+",
    asks_latest=r"(?:po )?raz ostatni|ostatni raz|ostatnio|najnowsz\w+|najświeższ\w+|(?:mój|moja|moje|mojego"
    r"|mojej|jego|jej|nasz\w*) ostatni\w* (?!(?:noc|tydzie|tygod|miesi|rok|lat|zim|częś|rozdział|krok)\w*)\w+"
    r"|ostatni\w* (?:rzecz|pytani|wiadomoś|temat|rozmow|zdani)\w*|jako ostatni\w*",
    asks_order=r"w jakiej kolejności|w jakim porządku|chronolog\w+|oś czasu|(?:wymień|podaj|pokaż|powiedz"
    r"|ułóż)\w*\b.{0,80}\bkolejnoś\w+",
    asks_what=r"^\W*jak(?:i|a|ie) (?:jest|są|był[ao]?|mamy|mam)",
    asks_otherwise=r"wcześniej\w*|przedtem|poprzedni\w*|dawniej|kiedyś|pierwotn\w+|początkow\w+|na początku"
    r"|najpierw|pierwszy raz|wtedy|różni\w+|między|porówn\w+|zmieni\w+|zmian\w*|rozwi\w+|popraw\w+"
    r"|z \d.{0,20} (?:na|do)|polec\w+|dora\w+|zapropon\w+|suger\w+|mówi\w+|powiedzi\w+|powin\w+|(?:możesz|mógłbyś"
    r"|mogłabyś|mogę|możemy) \w+",
    tells_change=r"teraz|obecnie|zamiast|już nie|nie .{1,30} już|tymczasem|ostatecznie|now[yaeą]|nowego|nowej"
    r"|ostatnio|przesun\w+|przełoż\w+|przenie\w+|odroczon\w+|zmieni\w+|zmian[aę]|popraw\w+|korekt\w+|zastąpi\w+"
    r"|zaktualizow\w+|zwiększ\w+|podni[eo]\w+|wzr(?:ósł|osł\w+)|zmniejsz\w+|obniż\w+|spadł\w*|wydłuż\w+|skróc\w+"
    r"|przeprowadził\w+|opóźni\w+",
    tells_return=r"znowu|znów|ponownie|z powrotem|wróci\w+|powróci\w+|wraca\w*|przywróc\w+|jak wcześniej",
    denies=r"nie(?! (?:tylko|zapom\w+))|nigdy|ani|żad\w+",
    supposes=r"jeśli|jeżeli|gdyby\w*|czy|może|\w+(?:ł[aoy]?|li)by\w*|załóżmy",
    conjunctions="i ale bo ponieważ podczas chociaż lecz więc",
    percent=r"{n} ?procent\w*",
    clock=r"(?:o godz(?:inie|\.)?|na godzinę|godzina|do godziny) {t}",
    past_day=r"zeszł\w+|ubiegł\w+|minion\w+|ostatni\w*|t[eę]n?",
    day_alone=r"{d}-?go|dnia {d}",
    weekday_forms="poniedziałku/poniedziałkiem wtorku środy/środzie czwartku piątku soboty/sobocie niedzieli",
    hints="wczoraj przedwczoraj dziś dzisiaj tydzień tygodniu zeszłym zeszły temu miesiącu",
    dates=DateWords(
        today=r"dziś|dzisiaj|dziś (?:rano|wieczorem)|dzisiaj (?:rano|wieczorem)",
        yesterday=r"wczoraj(?: rano| wieczorem)?|zeszłej nocy",
        day_before=r"przedwczoraj",
        units={
            "day": r"dzień|dni|dnia|dniach|dniu|dniami",
            "week": r"tydzień|tygodnie|tygodni|tygodniu|tygodnia|tygodniach",
            "weekend": r"weekend\w*",
            "month": r"miesi[ąę]c\w*",
            "quarter": r"kwarta\w+",
            "year": r"rok\w*|lata?|latach",
            "hour": r"godzin\w*",
        },
        plurals=r"dni|dniach|tygodnie|tygodni|tygodniach|miesiącach|miesiące|miesięcy|latach|lat|lata|godzinach",
        seasons=(r"wiosn\w+", r"lato|latem|lata|lecie", r"jesie[nń]\w*", r"zim\w+"),
        last=r"(?:zeszł|ubiegł|minion|ostatni|poprzedni)\w*",
        before_last=r"(?:zaprzeszł|przedostatni)\w*",
        this=r"ten|tym|tego|tej|tę|tą|te|tych",
        following=r"(?:przyszł|następn|najbliższ|nadchodząc|każd)\w*|co",
        since=r"od",
        between=r"między|pomiędzy",
        to=r"do|a",
        both=r"i",
        ago=r"temu",
        early=r"począt\w+",
        middle=r"połow\w+",
        late=r"koni?e?c\w*|końc\w+",
        on=r"w ciągu|we?",
        within=r"podczas|przez|na|za",
        after_year=r"roku|r\.",
        fillers=r"około|całe\w*|całym|dnia(?= \d)",
        ordinals=(r"pierwsz\w+", r"drugi\w*", r"trzeci\w*", r"czwart(?:y|ym|ego)"),
        numbers="jednego=1|dwóch=2|trzech=3|czterech=4|pięciu=5|sześciu=6|siedmiu=7|ośmiu=8|dziewięciu=9|dziesięciu=10"
        "|jedenaście=11|dwanaście=12|czternaście=14|piętnaście=15|dwadzieścia=20|trzydzieści=30|kilka=0|kilku=0|parę=0",
        past=r"\w+(?:łem|łam|łeś|łaś|liśmy|łyśmy|ła|ło|li|ły)|był|miał|stało|\w{2,}ił|\w{2,}ał",
        months_need_preposition=True,
        generic=r"wiesz|wiecie|znasz|przypomn\w+|pamięta\w+|"
        r"rozmawia\w+|mówi\w+|powiedzi\w+|stało|działo|dzieje|wydarzyło|rozmow\w+|podsumuj\w*|streść|temat\w*"
        r"|wspom\w+|pokaż|opowiedz\w*|robili\w*|robiłem|robiłam|czym|pisa\w+|pyta\w+|omawia\w+|wiadomości\w*|razem|rzecz\w*",
    ),
)
