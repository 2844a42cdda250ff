from __future__ import annotations

from memorybase.core.keyword_index.languages.date_words import DateWords
from memorybase.core.keyword_index.languages.definition import Language

SPANISH = Language(
    name="spanish",
    code="es",
    stop_words="el la los las lo un una unos unas de del al a y e o u pero sino ni que qué quien quién quienes cual "
    "cuál cuales cuáles como cómo cuando cuándo donde dónde porque por para con sin sobre entre hasta desde hacia "
    "según contra durante en yo tú él ella ello nosotros vosotros ellos ellas usted ustedes me te se nos os le les mi "
    "mis tu tus su sus nuestro nuestra nuestros nuestras vuestro este esta esto estos estas ese esa eso esos esas "
    "aquel aquella es son soy eres somos era eran fue fueron ser sido será sería estoy está están estaba estaban estar "
    "he has ha hemos han había habían haber hay hubo tengo tiene tienes tienen tenía tener hace hacer hizo puedo puede "
    "pueden podría debo debe quiero quiere no sí si ya también tampoco muy más menos mucho mucha muchos muchas poco "
    "todo toda todos todas otro otra otros otras algo nada nadie cada así aquí allí ahora entonces cuánto cuánta "
    "cuántos cuántas hoy solo sólo bien mí pues aún todavía",
    weak="el la los las lo un a e o u me te se de no si he has ha han es son me mi tu en sin sobre entre "
    "para este esta era como ni y del ser una solo bien se todo",
    letters="ñ¿¡óíáúé",
    months="enero febrero marzo abril mayo junio julio agosto septiembre/setiembre octubre noviembre diciembre",
    weekdays="lunes martes miércoles/miercoles jueves viernes sábado/sabado/sábados domingo/domingos",
    numbers="un=1 una=1 uno=1 dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10",
    times=r"ayer|anteayer|hoy|mañana|recientemente|anoche|desde|fin de semana|hace"
    r"|(?:semana|mes|año|noche|verano|invierno|otoño|primavera) (?:pasad[oa]|próxim[oa]|que viene)"
    r"|(?:último|última|próximo|próxima) (?:semana|mes|año)|a las \w+",
    asks_time=r"cuándo|cuando (?:es|fue|era)|desde cuándo|hasta cuándo|cuánto tiempo|a qué hora"
    r"|(?:qué|en qué) (?:día|fecha|año|mes|hora)",
    asks_number=r"cuánt[oa]s?|qué edad|a qué precio|qué (?:cantidad|tamaño|altura|distancia|precio)",
    asks_about_person=r"{any}(?:sabes|sabéis|sabe usted|saben ustedes|(?:qu[eé] )(?:sabe|recuerda|tiene)"
    r"|recuerdas|recordáis|te acuerdas|conoces|has (?:aprendido|guardado|anotado|memorizado)|aprendiste"
    r"|tienes|tiene usted|guardas|(?:me )?puedes? decir(?:me)?)(?: (?:ya|exactamente|realmente|guardad[oa]s?"
    r"|anotad[oa]s?|registrad[oa]s?|hasta ahora|todo|algo|más))* (?:de|sobre"
    r"|acerca de) m[ií](?: hasta ahora)?|(?:h[aá]blame|cu[eé]ntame)(?: algo| todo)? (?:de"
    r"|sobre) m[ií](?: mism[oa])?|descr[ií]beme|(?:y |(?:t[uú] )?sabes |dime |entonces )?qui[eé]n soy(?: yo)?"
    r"|(?:cu[aá]les son |dime |lista )?mis (?:preferencias|gustos|intereses|aficiones|h[aá]bitos)"
    r"|(?:mu[eé]strame |ver |ense[nñ]ame )?mi perfil|me conoces(?: bien| ya)?|c[oó]mo me describir[ií]as"
    r"|{any}informaci[oó]n (?:tienes|tiene usted|guardas)(?: guardada)? sobre m[ií]",
    about_topics=("(?:de|del|sobre|acerca del?) {topic}=de mi",),
    area_of_life=r"(?:mis?|nuestr[oa]s?) (?:trabajo|empleo|profesión|carrera|familia|hogar|casa|salud|dieta"
    r"|alimentación|hobbies|aficiones|pasatiempos|tiempo libre|deportes?|intereses|"
    r"preferencias|gustos|hábitos|costumbres|estudios|formación|escuela|finanzas|dinero|"
    r"amig[oa]s|día a día|vida)(?: privada| profesional)?",
    lasting=r"(?:soy|vivo|trabajo|estudio|hablo|juego|dirijo|tengo|prefiero|odio|como|bebo|tomo|uso"
    r"|me (?:llamo|gusta\w*|encanta\w*|dedico)|llámame|vivimos|tenemos|somos)|(?:mi|mis"
    r"|nuestr[oa]s?) (?:\S+ ){1,3}(?:es|son|está|están|se llama\w*|tiene\w*|vive\w*|trabaja\w*)|alérgic[oa]s?"
    r"|siempre|nunca|por favor",
    first_person=r"yo|me|mí|mis?|mío|mía|conmigo|nos|nosotr[oa]s|nuestr[oa]s?|soy|tengo|estoy|vivo|trabajo"
    r"|voy|he|hemos|tenemos|vamos|quiero|necesito|prefiero|míos|mías",
    asks_other_side=r"(?:me|nos) (?:dijiste|recomendaste|sugeriste|propusiste|aconsejaste|explicaste|diste|contaste)"
    r"|(?:me|nos) (?:has|habías|ha|había) \w+|(?:dijiste|recomendaste|sugeriste|mencionaste)",
    of=r"del? ",
    ordinal="[ºo]",
    asks_first=r"(?:la |por )?primera vez|al principio|en un principio|originalmente|inicialmente|lo primero"
    r"|(?:mi|mis|su|sus|nuestr[oa]) primer[oa]?s? (?!(?:versión|nombre|capítulo|semana|día|sprint|paso|parte"
    r"|borrador|idioma|artículo|lugar|noche|fase|ronda)\b)\w+",
    asks_latest=r"(?:la )?última vez|por última vez|más recientes?|(?:mi|mis|su|sus"
    r"|nuestr[oa]) últim[oa]s? (?!(?:noche|semana|mes|año|verano|invierno|parte|capítulo|paso)\b)\w+"
    r"|lo último|por último|última (?:cosa|pregunta|conversación|frase)|último (?:mensaje|tema)",
    asks_order=r"en qué orden|cronol\w+|línea de tiempo|(?:list|enumer|dime|muéstra|dame"
    r"|orden)\w*\b.{0,80}\borden",
    asks_what=r"^\W*cuál(?:es)? (?:es|era|fue|son)",
    asks_otherwise=r"antes|anterior\w*|previ[ao]\w*|al principio|en un principio|original\w*|inicial\w*"
    r"|primera vez|en aquel entonces|diferencia|entre|compar\w+|cambi\w+|evolu\w+|mejor\w+|de \d.{0,20} a"
    r"|recom\w+|aconsej\w+|suger\w+|dijiste|debería\w*|debo|(?:puedes|podrías|puede|podría|puedo) \w+",
    tells_change=r"ahora|actualmente|en vez de|en lugar de|ya no|finalmente|en realidad|mientras tanto"
    r"|(?<!de )nuev[oa]s?|recientemente|(?:cambi|modific|aplaz|retras|adelant|traslad|reemplaz|actualiz|aument"
    r"|rebaj|ampli|acort|mud|reprogram)(?:ado|ada|ados|adas|ó|amos|aron|é)|pospuest[oa]|pospus\w+|correg\w+"
    r"|corrig\w+|corrección|(?:ha (?:subido|bajado)|subió|bajó) a|reduc\w+|reduj\w+|pas[aó] (?:a|de)(?: las?"
    r"| ser)? \d|sustituid[oa]",
    tells_return=r"de nuevo|nuevamente|otra vez|v(?:uelv|olv)\w+|regres\w+|como antes",
    denies=r"no(?! (?:solo|sólo|olvid\w+|te olvid\w+))|nunca|jamás|tampoco",
    supposes=r"si|quizás?|tal vez|(?:se|hab|pod|deb|tend)r?ía\w*|fuera|fuese|supongamos|imagina",
    conjunctions="y pero porque mientras aunque sino",
    percent=r"{n} ?por ciento",
    clock=r"a las? {t}(?: ?h(?:oras)?)?(?! (?!(?:de|y|en|para|pero|con|por|los?|las?|el)\b)\w)",
    past_day=r"pasado|este|últim[oa]",
    day_alone=r"el (?:día )?{d}(?=\s*(?:[.,;!?)]|$))|día {d}",
    counted=r"cuánt[oa]s (\w+)",
    hints="ayer anteayer anoche hoy pasada pasado días",
    dates=DateWords(
        today=r"hoy|esta (?:mañana|tarde|noche)",
        yesterday=r"ayer|anoche|ayer por la (?:mañana|tarde|noche)",
        day_before=r"anteayer|antes de ayer|antier|anteanoche",
        fortnight=r"quincenas?",
        units={
            "day": r"d[ií]as?",
            "week": r"semanas?",
            "weekend": r"fin(?:es)? de semana|findes?",
            "month": r"mes(?:es)?",
            "quarter": r"trimestres?",
            "year": r"años?",
            "hour": r"horas?",
        },
        plurals=r"d[ií]as|semanas|meses|años|horas",
        seasons=(r"primaveras?", r"veranos?", r"otoños?", r"inviernos?"),
        last=r"pasad[oa]s?|últim[oa]s?|anterior(?:es)?",
        before_last=r"antepasad[oa]|penúltim[oa]",
        this=r"est[ea]|estos|estas",
        following=r"próxim[oa]s?|cada|todos los|que viene|siguientes?|los (?=lunes|martes|mi[ée]rcoles|jueves|viernes)",
        since=r"desde(?: el| la)?",
        between=r"entre(?: el)?",
        to=r"al?|hasta(?: el)?",
        both=r"y(?: el)?",
        ago=r"hace",
        early=r"principios? de|comienzos de|inicios de",
        middle=r"mediados de",
        late=r"final(?:es)? de|fines de",
        on=r"el",
        within=r"en|durante|a lo largo de",
        fillers=r"la|los|las|de|del|casi|todo|toda|aproximadamente",
        ordinals=(r"primer[oa]?", r"segund[oa]", r"tercer[oa]?", r"cuart[oa]"),
        numbers="once=11|doce=12|catorce=14|quince=15|veinte=20|treinta=30"
        "|un par de=2|unos=0|unas=0|pocos=0|varios=0|varias=0",
        past=r"fue|era|hubo|estaba\w*|he|ha|hemos|has|han|había\w*|\w+(?:mos|aste|iste|ó|é|í|aron|ieron)|hic\w+|dij\w+"
        r"|pas[óo]",
        months_need_preposition=True,
        generic=r"sab\w+|conoc\w+|recuerd\w+|record\w+|preocup\w+|ocup\w+|"
        r"habl\w+|dij\w+|dicho|dec\w+|convers\w+|charl\w+|pas[óo]|pasado|ocurri\w+|sucedi\w+|hicimos|hice|cont\w+"
        r"|resum\w+|tema|temas|mencion\w+|coment\w+|mensajes?|discut\w+|muestra\w*|cosas?|pregunt\w+|tratamos|juntos",
    ),
)
