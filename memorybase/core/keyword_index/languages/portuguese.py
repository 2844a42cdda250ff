from __future__ import annotations

from memorybase.core.keyword_index.languages.date_words import DateWords
from memorybase.core.keyword_index.languages.definition import Language

PORTUGUESE = Language(
    name="portuguese",
    code="pt",
    stop_words="o a os as um uma uns umas de do da dos das em no na nos nas ao à aos às pelo pela pelos pelas num numa "
    "e ou mas nem que quê quem qual quais como quando onde porque porquê "
    "por para com sem sobre entre até desde contra "
    "durante após eu tu ele ela nós vós eles elas você vocês me te se lhe "
    "lhes nos meu minha meus minhas teu tua teus "
    "tuas seu sua seus suas nosso nossa nossos nossas este esta isto estes estas esse essa isso esses essas aquele "
    "aquela aquilo é são sou és somos era eram foi foram ser sido será seria estou está estão estava estavam estar "
    "tenho tem têm tens tinha tinham ter teve há havia haver houve faz fazer fez posso pode podem poderia devo deve "
    "quero quer não sim já também muito muita muitos muitas mais menos "
    "pouco todo toda todos todas outro outra outros "
    "outras algo nada ninguém cada assim aqui ali lá agora então quanto quanta quantos quantas só bem mim pois ainda "
    "isto lo la comigo consigo dele dela deles delas",
    weak="num o a os as um de do da no na nos e me te se sem sobre entre "
    "para este esta era como ser tem "
    "ter mas quem lo la em tu",
    letters="ãõçóíáúêé",
    months="janeiro fevereiro março/marco abril maio junho julho agosto setembro outubro novembro dezembro",
    weekdays="segunda-feira/segunda terça-feira/terça quarta-feira/quarta quinta-feira/quinta sexta-feira/sexta "
    "sábado/sábados domingo/domingos",
    numbers="um=1 uma=1 dois=2 duas=2 três=3 quatro=4 cinco=5 seis=6 sete=7 oito=8 nove=9 dez=10",
    times=r"ontem|anteontem|hoje|amanhã|recentemente|desde|fim de semana|fins de semana|há \w+ (?:dias|semanas|anos)"
    r"|(?:semana|mês|ano|noite|verão|inverno|outono|primavera) (?:passad[oa]|que vem)"
    r"|(?:últim[oa]|próxim[oa]) (?:semana|mês|ano)|às \w+",
    asks_time=r"quando|desde quando|até quando|quanto tempo|a que horas|(?:que|qual|em que) (?:dia|data|ano|mês|hora)",
    asks_number=r"quant[oa]s?|que idade|qual (?:o|é o|foi o)? ?(?:valor|preço|tamanho|número)",
    asks_about_person=r"{any}(?:(?:você|vc|vocês|o senhor|a senhora)(?: (?:já|ainda|se))* (?:sabe|sabem"
    r"|lembra|lembram|conhece|tem|aprendeu|guardou|anotou|memorizou|pode me (?:dizer|contar))|(?:sabes"
    r"|te lembras|lembras|lembras-te|conheces|tens|aprendeste|guardaste)|que (?:sabe|lembra|tem))(?: (?:já"
    r"|exatamente|guardad[oa]s?|registrad[oa]s?|salv[oa]s?|tudo|algo|alguma coisa|mais))* (?:(?:de|sobre"
    r"|acerca de|a respeito de) mim|a meu respeito)(?: até agora)?|(?:por favor )?(?:fal[ae]|cont[ae])(?:-me"
    r"| me| comigo)?(?: algo| tudo)? (?:de|sobre) mim(?: mesm[oa])?|me (?:fal[ae]|cont[ae])(?: algo"
    r"| tudo)? (?:de|sobre) mim|me descrev[ae]|descreve-me|(?:e |você sabe |sabes )?quem (?:sou eu|eu sou"
    r"|sou)|(?:quais são )?(?:os |as )?(?:meus|minhas) (?:preferências|gostos|interesses|hábitos|passatempos)"
    r"|(?:mostr[ae](?:-me)? )?(?:o )?meu perfil|você me conhece(?: bem)?|conheces-me",
    about_topics=("(?:d[eoa]s?|sobre|acerca d[eoa]s?|a respeito d[eoa]s?) {topic}=sobre mim",),
    area_of_life=r"(?:[oa]s? )?(?:meus?|minhas?|noss[oa]s?) (?:trabalho|emprego|profissão|carreira|família|"
    r"lar|casa|saúde|dieta|alimentação|hobbies|passatempos|tempos? livres?|esportes?|"
    r"desportos?|interesses|preferências|gostos|hábitos|estudos|formação|escola|finanças|"
    r"dinheiro|amig[oa]s|dia a dia|vida)(?: privada| profissional)?",
    lasting=r"(?:sou|moro|vivo|trabalho|estudo|falo|jogo|tenho|prefiro|odeio|detesto|como|bebo|tomo|uso|gosto"
    r"|adoro|chamo-me|me chamo|moramos|temos|somos)|(?:meus?|minhas?|noss[oa]s?) (?:\S+ ){1,3}(?:é|são|está"
    r"|estão|se chama\w*|chama-se|tem|têm|mora\w*|trabalha\w*)|alérgic[oa]s?|sempre|nunca",
    first_person=r"eu|me|mim|meus?|minhas?|comigo|nós|noss[oa]s?|sou|tenho|estou|moro|trabalho|vou|temos"
    r"|quero|preciso|prefiro|gosto",
    asks_other_side=r"(?:me|nos) (?:disseste|recomendaste|sugeriste|explicaste|deste)|você (?:me )?(?:disse|recomendou"
    r"|sugeriu|mencionou|explicou|deu|indicou|propôs)|(?:disseste|recomendaste|sugeriste|aconselhaste)",
    of=r"de ",
    ordinal="[ºo]",
    asks_first=r"(?:a |pela )?primeira vez|no (?:começo|início|princípio)|originalmente|inicialmente"
    r"|em primeiro lugar|(?:meu|minha|meus|minhas|seu|sua|nosso|nossa) primeir[oa]s? (?!(?:versão|nome|capítulo"
    r"|semana|dia|sprint|passo|parte|rascunho|língua|artigo|lugar|noite|fase|rodada)\b)\w+",
    asks_latest=r"(?:a |pela )?última vez|mais recentes?|(?:meu|minha|meus|minhas|seu|sua|nosso"
    r"|nossa) últim[oa]s? (?!(?:noite|semana|mês|ano|verão|inverno|parte|capítulo|passo|nome)\b)\w+"
    r"|a última coisa|por último|última (?:pergunta|mensagem|conversa|frase)|último (?:assunto|tema)",
    asks_order=r"em (?:que|qual) ordem|cronol\w+|linha do tempo|(?:list|enumer|diga|mostr"
    r"|orden)\w*\b.{0,80}\bordem",
    asks_what=r"^\W*(?:qual|quais) (?:é|era|foi|são)",
    asks_otherwise=r"antes|anterior\w*|prévi[ao]\w*|no (?:começo|início|princípio)|original\w*|inicial\w*"
    r"|primeira vez|naquela época|diferença|entre|compar\w+|mud\w+|alter\w+|evolu\w+|melhor\w+|de \d.{0,20} (?:a"
    r"|para)|recomend\w+|aconselh\w+|suger\w+|disse(?:ste)?|deveria\w*|devo|(?:pode|podes|poderia|podia"
    r"|posso) \w+",
    tells_change=r"agora|atualmente|em vez d\w+|ao invés d\w+|em lugar d\w+|já não|não .{1,30} mais(?! (?:de|do"
    r"|que))|finalmente|na verdade|(?<!de )nov[oa]s?|recentemente|(?:mud|alter|adi|antecip|atras|troc|atualiz"
    r"|aument|encurt|remarc|reagend)(?:ado|ada|ados|adas|ou|amos|aram|ei)|corrig\w+|correção|(?:subiu"
    r"|baixou) para|reduzi\w+|diminuiu|prolongad[oa]|pass(?:a|ou|ei) (?:a|para|de) \d|substituíd[oa]",
    tells_return=r"de novo|novamente|outra vez|volt(?:ou|ei|amos|aram|a|o)|retorn\w+|como antes",
    denies=r"não(?! (?:só|se esque\w+|esque\w+))|nunca|jamais|nem|tampouco",
    supposes=r"^\W*(?:(?:e|mas) )?(?:se|caso)|(?:sei|saber) se|talvez|(?:se|pode|deve|te)ria\w*|suponhamos|imagine",
    conjunctions="e mas porque enquanto embora",
    percent=r"{n} ?por ?cento",
    clock=r"às? {t}(?: ?h(?:oras)?)?(?: ?\d\d)?|{t} ?h ?\d\d",
    past_day=r"passad[oa]|est[ea]|últim[oa]",
    day_alone=r"dia {d}",
    hints="ontem anteontem hoje amanhã passada passado mês fizemos falamos",
    unclear="segunda terça quarta quinta sexta",
    counted=r"quant[oa]s (\w+)",
    dates=DateWords(
        today=r"hoje|esta (?:manhã|tarde|noite)|hoje (?:de manhã|à noite)",
        yesterday=r"ontem|ontem à noite|noite passada",
        day_before=r"anteontem|antes de ontem",
        fortnight=r"quinzenas?",
        units={
            "day": r"dias?",
            "week": r"semanas?",
            "weekend": r"fi(?:m|ns) de semana",
            "month": r"m[êe]s|meses",
            "quarter": r"trimestres?",
            "year": r"anos?",
            "hour": r"horas?",
        },
        plurals=r"dias|semanas|meses|anos|horas",
        seasons=(r"primaveras?", r"ver(?:ão|ões)", r"outonos?", r"invernos?"),
        last=r"passad[oa]s?|últim[oa]s?|anterior(?:es)?",
        before_last=r"retrasad[oa]|penúltim[oa]",
        this=r"[dn]?es[st][ea]s?",
        following=r"próxim[oa]s?|cada|tod[oa]s? [oa]s?|que vem|seguintes?",
        since=r"desde(?: [oa])?",
        between=r"entre(?: o| a)?",
        to=r"ao?|até(?: o| a)?|à",
        both=r"e(?: o)?",
        ago=r"há|atrás|faz",
        early=r"início de|início do|começo de|começo do",
        middle=r"meados de|meio de",
        late=r"final de|fim de|fins de|final do",
        on=r"na|no|em",
        within=r"durante|ao longo de",
        fillers=r"de|do|a|o|as|os|da|das|dos|nos|nas|cerca|dia",
        ordinals=(
            r"primeir[oa]",
            r"segund[oa](?= trimestre| semana)",
            r"terceir[oa]",
            r"quart[oa](?= trimestre| semana)",
        ),
        numbers="onze=11|doze=12|catorze=14|quinze=15|vinte=20|trinta=30|uns=0|umas=0|alguns=0|algumas=0|poucos=0|vários=0|várias=0",
        past=r"foi|era|houve|estava\w*|tinha\w*|tivemos|\w+(?:mos|aste|este|iste|ou|eu|iu|ei|aram|eram)|fiz\w*|disse\w*",
        months_need_preposition=True,
        generic=r"sab\w+|conhec\w+|lembr\w+|record\w+|preocup\w+|ocup\w+|"
        r"fal\w+|disse\w*|dito|convers\w+|aconteceu|aconteceram|passou|fizemos|fiz|cont\w+|resum\w+|assuntos?|temas?"
        r"|mencion\w+|coment\w+|mensagens|discut\w+|mostr\w+|coisas?|pergunt\w+|tratamos|juntos",
    ),
)
