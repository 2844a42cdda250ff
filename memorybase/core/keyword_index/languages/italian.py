from __future__ import annotations

from memorybase.core.keyword_index.languages.date_words import DateWords
from memorybase.core.keyword_index.languages.definition import Language

ITALIAN = Language(
    name="italian",
    code="it",
    stop_words="il lo la i gli le l un uno una di a da in con su per tra fra del dello della dei degli delle al allo "
    "alla ai agli alle dal dallo dalla dai dagli dalle nel nello nella nei negli nelle sul sullo sulla sui sugli sulle "
    "col e ed o ma anche se che chi cui quale quali come quando dove perché perchè quanto quanta quanti quante cosa io "
    "tu lui lei noi voi loro mi ti si ci vi me te ne gli mio mia miei mie tuo tua tuoi tue suo sua suoi sue nostro "
    "nostra nostri nostre vostro vostra questo questa questi queste quello quella quelli quelle è sono sei siamo siete "
    "era erano ero fu sarà sarebbe essere stato stata stati ho hai ha abbiamo avete hanno aveva avevo avevano avere "
    "fa fare fatto può posso puoi possono potrebbe devo deve devi voglio vuole non sì no più meno molto molta molti "
    "molte poco tutto tutta tutti tutte altro altra altri altre qualcosa niente nessuno ogni così qui lì là ora adesso "
    "allora già ancora sempre mai solo bene senza sotto sopra dopo prima durante contro verso fino poi c d",
    weak="del dei tue il lo la i le l un di a da in con su per al e o ma se come mi ti si ci me te ne mio sei ho ha fa "
    "fu no solo mai la prima era cosa io tu era non",
    letters="ìòèàù",
    months="gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    weekdays="lunedì/lunedi martedì/martedi mercoledì/mercoledi giovedì/giovedi venerdì/venerdi sabato domenica",
    numbers="un=1 una=1 uno=1 due=2 tre=3 quattro=4 cinque=5 sei=6 sette=7 otto=8 nove=9 dieci=10",
    times=r"ieri|oggi|domani|dopodomani|stamattina|stasera|recentemente|fine settimana|weekend|\w+ fa"
    r"|(?:settimana|mese|anno|notte|estate|inverno|autunno|primavera) (?:scors[oa]|prossim[oa])"
    r"|(?:scors[oa]|prossim[oa]) (?:settimana|mese|anno|estate|inverno)|alle \w+",
    asks_time=r"quando|da quando|fino a quando|quanto tempo|a che ora|(?:che|quale|in che|in quale) (?:giorno|data|anno"
    r"|mese|ora)",
    asks_number=r"quant[oaie]|quant'è|che età|qual è (?:il|la) (?:prezzo|numero|somma|costo)",
    asks_about_person=r"{any}(?:sai|sapete|lei sa|ti ricordi|vi ricordate|ricordi|conosci|hai|avete|tieni"
    r"|(?:puoi|sai) dirmi)(?: (?:già|ancora|esattamente|imparato|memorizzato|salvato|annotato|registrato"
    r"|tutto|qualcosa|salvate|memorizzate))* (?:(?:di|su|su di|riguardo a) me|sul mio conto)(?: finora)?"
    r"|(?:parlami|raccontami|dimmi)(?: qualcosa| tutto)? (?:di|su di) me(?: stess[oa])?|descrivimi|(?:e |sai "
    r"|dimmi |allora )?chi sono(?: io)?|(?:quali sono )?(?:le |i )?(?:mie|miei) (?:preferenze|gusti|interessi"
    r"|abitudini|hobby)|(?:mostrami )?(?:il )?mio profilo|mi conosci(?: bene)?|come mi descriveresti",
    about_topics=("(?:(?:d(?:i|el|ello|ella|ei|egli|elle)|su|sul(?:lo|la|le)?|sui|sugli) |(?:de|su)ll'){topic}=di me",),
    area_of_life=r"(?:mi[oae]|miei|nostr[oaie]) (?:lavoro|impiego|professione|carriera|famiglia|casa|salute"
    r"|dieta|alimentazione|hobby|passatempi|tempo libero|sport|interessi|preferenze|gusti|"
    r"abitudini|studi|formazione|scuola|finanze|soldi|amici|vita)(?: privata| professionale)?",
    lasting=r"(?:sono (?:un\w*|allergic\w*|vegetarian\w*|vegan\w*|di|nat[oa])|vivo|abito|lavoro|studio|parlo"
    r"|gioco|ho|preferisco|odio|mangio|bevo|prendo|uso|mi (?:chiamo|piace|piacciono)|chiamami|viviamo"
    r"|abbiamo)|(?:mi[oae]|miei|nostr[oaie]) (?:\S+ ){1,3}(?:è|sono|si chiama\w*|ha|hanno|vive|lavora)"
    r"|allergic\w*|sempre|mai|non mangio",
    first_person=r"io|mi|me|mi[oae]|miei|noi|ci|nostr[oaie]|sono|ho|sto|vivo|abito|lavoro|vado|abbiamo|voglio"
    r"|preferisco",
    asks_other_side=r"(?:mi|ci) (?:hai|avevi|ha|aveva) \w+|hai (?:detto|consigliato|suggerito|proposto|menzionato)",
    of=r"di ",
    ordinal="[ºo]",
    elided="l un dell all dall nell sull d c quell quest s m t v n com dov anch senz bell",
    asks_first=r"(?:la |per la )?prima volta|all'inizio|inizialmente|in origine|originariamente|per prim[oa]"
    r"|per prima cosa|(?:mio|mia|miei|mie|suo|sua|nostro|nostra) prim[oaie] (?!(?:versione|nome|capitolo"
    r"|settimana|giorno|sprint|passo|parte|bozza|lingua|articolo|posto|notte|fase)\b)\w+",
    asks_latest=r"(?:l')?ultima volta|più recent[ei]|(?:mio|mia|miei|mie|suo|sua|nostro"
    r"|nostra) ultim[oaie] (?!(?:notte|settimana|mese|anno|estate|inverno|parte|capitolo|passo|nome)\b)\w+"
    r"|l'ultima cosa|per ultim[oa]|ultim[oa] (?:domanda|messaggio|argomento|conversazione|frase)",
    asks_order=r"in (?:che|quale) ordine|cronolog\w+|linea (?:del tempo|temporale)|(?:elenca|dimmi|mostra|dammi"
    r"|ordina)\w*\b.{0,80}\bordine",
    asks_what=r"^\W*(?:qual(?:'?è| è| era)|quali sono)",
    asks_otherwise=r"prima|precedent\w+|in passato|all'inizio|inizial\w+|in origine|original\w+|originari\w+"
    r"|a quel tempo|differenza|tra|fra|confront\w+|paragon\w+|cambia\w+|evol\w+|miglior\w+|da \d.{0,20} a"
    r"|raccomand\w+|consigli\w+|sugger\w+|propost[oa]|detto|dovre\w+|devo|(?:puoi|potresti|può|potrebbe"
    r"|posso) \w+",
    tells_change=r"(?<!')(?<!\d )(?<!ogni )(?<!mezza )(?<!che )ora(?! di| al )|adesso|attualmente|ormai|invece"
    r"|al posto d\w+|non .{1,30} più(?! (?:di|del|che))|in realtà|nel frattempo|(?<!di )nuov[oaie]|recentemente"
    r"|(?:cambi|modific|rimand|rinvi|spost|anticip|ritard|aggiorn|aument|abbass|prolung|accorci)(?:at[oaie]|o"
    r"|amo)|corre(?:tto|tta|zione)|corregg\w+|ridott[oaie]|diminuit[oaie]|(?:salit|sces)[oaie] a"
    r"|passat[oaie] (?:a|da) \d|sostituit[oaie]|trasferit[oaie]",
    tells_return=r"di nuovo|nuovamente|(?:ri)?torn\w+|ripristin\w+|un'altra volta|come prima",
    denies=r"non(?! (?:solo|dimentic\w+|scord\w+))|mai|nemmeno|neanche",
    supposes=r"se|qualora|forse|(?:sa|pot|dov|av)re(?:i|bbe\w*|mmo)|supponiamo|immagina",
    conjunctions="e ma perché mentre sebbene quindi",
    percent=r"{n} ?per ?cento",
    clock=r"(?:all[e']|dalle|(?<!\d )ore) ?{t}(?! (?!(?:di|del|e|in|con|per|ma|da|dal|nel|circa|invece)\b)\w)",
    past_day=r"scors[oa]|quest[oa]|passat[oa]",
    day_alone=r"il {d}(?=\s*(?:[.,;!?)]|$))",
    unclear="sei",
    counted=r"quant[ei] (\w+)",
    hints="ieri oggi settimana settimane scorsa scorso scorsi stamattina giorni mese",
    dates=DateWords(
        today=r"oggi|stamattina|stasera|stamani|stanotte|questa mattina|questa sera|questo pomeriggio",
        yesterday=r"ieri(?: sera| mattina| pomeriggio)?|la notte scorsa",
        day_before=r"l'altro ieri|ieri l'altro|avantieri|altro ieri",
        units={
            "day": r"giorn[oi]|giornat[ae]",
            "week": r"settiman[ae]",
            "weekend": r"fine settimana|weekend|week-end",
            "month": r"mes[ei]",
            "quarter": r"trimestr[ei]",
            "year": r"ann[oi]",
            "hour": r"or[ae]",
        },
        plurals=r"giorni|settimane|mesi|anni|ore",
        seasons=(r"primaver[ae]", r"estat[ei]", r"autunn[oi]", r"invern[oi]"),
        last=r"scors[oaie]|passat[oaie]|ultim[oaie]|precedent[ei]",
        before_last=r"penultim[oa]",
        this=r"quest[oaie]?",
        following=r"prossim[oaie]|ogni|tutt[ie] [ligae]+|che viene|seguent[ei]"
        r"|il (?=(?:lune|marte|mercole|giove|vener)d)",
        since=r"d(?:a|al|all|alla|allo)",
        between=r"tra(?: il| l')?|fra(?: il| l')?",
        to=r"al|all|a|fino (?:al?|all)",
        both=r"e(?: il| l')?",
        ago=r"fa",
        early=r"inizio|inizi|primi di",
        middle=r"metà",
        late=r"fine",
        on=r"il",
        within=r"in|nel|nell|nella|nei|negli|durante",
        fillers=r"l|i|gli|le|la|lo|di|del|dell|della|dei|circa|tutt[oa]|delle",
        ordinals=(r"prim[oa]", r"second[oa]", r"terz[oa]", r"quart[oa]"),
        numbers="undici=11|dodici=12|quattordici=14|quindici=15|venti=20|trenta=30"
        "|un paio di=2|una decina di=10|una quindicina di=15|alcuni=0|pochi=0|qualche=0",
        past=r"ho|hai|ha|abbiamo|avete|hanno|era|erano|avev\w+|fu|stat[oaie]|successo|accaduto|dissi|parlammo|\w+(?:at|ut|it)o",
        months_need_preposition=True,
        generic=r"sai|sapete|conosc\w+|ricord\w+|preoccup\w+|"
        r"parl\w+|dett[oaie]|dic\w+|discuss\w+|discut\w+|convers\w+|success[oe]|accadut[oe]|raccont\w+|riassum\w+"
        r"|argoment\w+|temi|tema|menzion\w+|messagg\w+|mostra\w*|cose|chiest\w+|insieme|scritt[oaie]|trattat[oaie]",
        bare_days=True,
    ),
)
