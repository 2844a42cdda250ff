# ruff: noqa: RUF001 - the words are Turkish
from __future__ import annotations

from memorybase.core.keyword_index.languages.date_words import DateWords
from memorybase.core.keyword_index.languages.definition import Language

TURKISH = Language(
    name="turkish",
    code="tr",
    stop_words="ve veya ya da de ki ile için ama fakat ancak çünkü eğer gibi kadar göre bir bu "
    "şu o bunu şunu onu bunun "
    "onun buna ona bunlar onlar ben sen biz siz beni seni bizi sizi bana sana bize size benim senin bizim sizin benden "
    "senden onda bende kendi kendim ne neden niçin niye nasıl nerede nereye nereden hangi hangisi kim kimin kime kimi "
    "kaç zaman mi mı mu mü misin mısın değil var yok olan olarak oldu olur olacak olsun idi ise iken çok az daha en "
    "her hiç hep bazı tüm bütün birkaç şey şimdi sonra önce artık hala hâlâ sadece yalnızca bile hem böyle şöyle öyle "
    "burada orada evet hayır lütfen tamam etti eder yaptı yap diye dedi üzere karşı rağmen dolayı beri",
    weak="o bu da de en ne ben sen her var size mi mu ve ile ya az bile hem biz",
    letters="ğşıç",
    months="ocak/ocakta/ocağın şubat/şubatta mart/martta nisan/nisanda mayıs/mayısta haziran/haziranda "
    "temmuz/temmuzda ağustos/ağustosta eylül/eylülde ekim/ekimde kasım/kasımda aralık/aralıkta",
    weekdays="pazartesi salı çarşamba perşembe cuma cumartesi pazar",
    numbers="bir=1 iki=2 üç=3 dört=4 beş=5 altı=6 yedi=7 sekiz=8 dokuz=9 on=10",
    times=r"dün|evvelsi gün|bugün|yarın|geçenlerde|hafta sonu|önce|akşam|sabah|saat \w+"
    r"|(?:geçen|gelecek|bu|önümüzdeki) (?:hafta|ay|yıl|sene|gece|yaz|kış)",
    asks_time=r"ne zaman\w*|saat kaçta|ne kadar sür\w*|hangi (?:gün|tarih\w*|yıl\w*|ay\w*|saat\w*)|kaç yılında|kaçında",
    asks_number=r"kaç\w*|ne kadar\w*|kaça|kaç yaşında",
    asks_about_person=r"(?:\S+ )?(?:benim )?(?:hakkımda|benimle ilgili)(?: (?:ne|neler|hangi|ne kadar|bilgi"
    r"|bilgiler|bilgilere|bilgin|her|bir|şey|şeyler|başka|şimdiye|kadar|tam|olarak))* (?:biliyor(?:sun(?:uz)?"
    r"| musun(?:uz)?)|hatırlıyorsun(?:uz)?|öğrendin(?:iz)?|sahipsin(?:iz)?|var|kaydettin(?:iz)?"
    r"|tutuyorsun(?:uz)?|bildi(?:ğin her şeyi|ğiniz her şeyi|klerini|klerinizi) (?:söyle|anlat|yaz)\w*)"
    r"|(?:bana )?(?:kendimden"
    r"|benden) (?:bahset|söz et)\w*|(?:bana )?beni (?:anlat|tarif et|tanımla)\w*"
    r"|(?:peki )?(?:ben )?kimim(?: ben)?|(?:benim )?(?:tercihlerim|ilgi alanlarım|alışkanlıklarım"
    r"|hobilerim)(?: (?:ne|neler|nelerdir))?|(?:benim )?profilim(?:i göster)?"
    r"|(?:benim )?kim olduğumu (?:biliyor musun(?:uz)?|hatırlıyor musun(?:uz)?|söyle)|beni (?:tanıyor"
    r"|hatırlıyor) musun(?:uz)?",
    about_topics=("{topic} (?:hakkında|ile ilgili)=hakkımda",),
    area_of_life=r"(?:benim |bizim )?(?:işim|mesleğim|kariyerim|ailem|evim|sağlığım|beslenmem|diyetim|"
    r"hobilerim|boş zamanlarım|ilgi alanlarım|tercihlerim|alışkanlıklarım|derslerim|eğitimim|"
    r"okulum|param|mali durumum|arkadaşlarım|hayatım|yaşamım)",
    lasting=r"ben (?:bir )?\w+|(?:\w+(?:ıyorum|iyorum|uyorum|üyorum|mam|mem))|benim (?:\S+ ){1,3}\w+|adım"
    r"|bana \w+ de|evim|işim|ofisim|eşim|kızım|oğlum|annem|babam|alerjim|her zaman|asla|\w+(?:ım|im|um"
    r"|üm) var",
    first_person=r"ben|beni|bana|benim|bende|biz|bizi|bize|bizim|\w+(?:ıyorum|iyorum|uyorum|üyorum|dım|dim"
    r"|dum|düm|tım|tim|ım|im|um|üm)",
    asks_other_side=r"(?:öner|tavsiye et|söyle|anlat|bahset|açıkla|yaz|ver|belirt)\w*(?:mişti|di|dı|ti|tı|du|dü)\w*"
    r"|(?:önerdi|söyledi|tavsiye etti)ğin\w*",
    folds={"\u0130": "i", "I": "\u0131", "\u0307": ""},  # the other I of Turkish
    is_word_before_apostrophe=True,
    asks_first=r"ilk (?:kez|defa|kere|olarak|önce)|başta|başlangıçta|en başta|aslen|ilk (?!(?:taslak|taslağ|sürüm"
    r"|isim|ism|bölüm|hafta|gün|sprint|adım|kısım|dil|makale|gece|aşama)\w*)\w+(?:ım|im|um|üm|m)(?:ı|i|u|ü)?",
    asks_latest=r"(?:en )?son (?:kez|defa|kere|olarak)|en son|en yeni|en güncel"
    r"|son (?:şey|soru|mesaj|konu|sohbet|cümle)\w*",
    asks_order=r"hangi sıra(?:yla|da)|kronoloji\w*|zaman çizelgesi\w*|(?:sırayla|sırasıyla) (?:listele|say|anlat"
    r"|göster)\w*",
    asks_what=r"nedir|neydi",
    asks_otherwise=r"önce(?:den|ki|si|leri|sinde)?|eskiden|eski|daha önce|aslen|başta|başlangıç\w*|ilk (?:kez"
    r"|defa|başta)|o zaman(?:lar)?|fark\w*|arasında\w*|karşılaştır\w*|değiş\w+|geliş\w+|iyileş\w+|öner\w+"
    r"|tavsiye\w*|dedin|söyledin|\w+meli(?:yim|yiz)|\w+malı(?:yım|yız)|(?:yapabilir|verebilir|edebilir"
    r"|söyleyebilir)\w*",
    tells_change=r"artık|şimdi|şu anda|yerine|bundan sonra|aslında|bu arada|yeni|son zamanlarda|ertelen\w+"
    r"|erteled\w+|öne al\w+|taşı(?:ndı|dı|ndık|dık|ndım|dım)\w*|değiş(?:ti|tir)\w*|güncelle\w+|düzelt\w+"
    r"|yenile\w+|art(?:tı|ırıl|ır)\w*|yüksel\w+|\d+'y?[ae] (?:çık|düş)\w+|\d \w+y[ae] (?:çık|düş)\w+"
    r"|düşür\w+|azal\w+|indir(?:il|di)\w*"
    r"|uzat\w+|kısalt\w+|gecik\w+",
    tells_return=r"tekrar|yine|yeniden|gene|geri (?:dön|al|taşı)\w*|eskisi gibi|eski haline|ilk haline",
    denies=r"değil\w*|yok|hiç|(?!cuma)\w+m[ae](?:d[ıi]|m[ıi]ş|z|yaca[kğ]|yece[kğ])\w*",
    supposes=r"eğer|belki|acaba|\w{2,}[ıiuü]rs[ae]\w*|\w{3,}[ae]rs[ae]k\w*|diyelim",
    conjunctions="ve ama fakat çünkü ancak",
    percent=r"yüzde ?{n}|%{n}",
    clock=r"saat {t}",
    past_day=r"geçen|bu",
    day_alone=r"ayın {d}(?:'?\w+)?",
    weekday_forms="pazartesiye/pazartesinin salıya/salının çarşambaya/çarşambanın perşembeye/perşembenin "
    "cumaya/cumanın cumartesiye/cumartesinin pazara",
    hints="dün bugün yarın geçen hafta yıl sabah akşam önce gün",
    unclear="on altı yedi",
    counted=r"kaç (?:tane )?(?!kez|defa|para)(\w+)",
    dates=DateWords(
        today=r"bugün|bu (?:sabah|akşam|gece)",
        yesterday=r"dün(?: akşam| gece| sabah)?|dünkü|dünden|geçen gece",
        day_before=r"evvelsi gün|önceki gün|evvelki gün",
        units={
            "day": r"gün\w{0,5}",
            "week": r"hafta(?!\s?son)\w{0,5}",
            "weekend": r"hafta ?sonu\w{0,4}",
            "month": r"ay(?:da|dan|lar|lık|ın|ı|dır)?",
            "quarter": r"çeyre[kğ]\w{0,4}",
            "year": r"yıl\w{0,5}|sene\w{0,4}",
            "hour": r"saat\w{0,4}",
        },
        plurals=r"günler\w*|haftalar\w*|aylar\w*|yıllar\w*|seneler\w*",
        seasons=(r"ilkbahar\w*|bahar\w*", r"yaz(?:ın)?", r"sonbahar\w*|güz", r"kış(?:ın)?"),
        last=r"geçen|geçtiğimiz|son",
        before_last=r"evvelki|önceki",
        this=r"bu",
        following=r"gelecek|önümüzdeki|her|sonraki",
        since=r"(?!)",
        since_after=r"beri|itibaren",
        between=r"arasında\w*|kadar",
        to=r"'?(?:den|dan|ten|tan)",
        both=r"ile|ve",
        ago=r"önce|evvel",
        early=r"başın\w*|başları\w*",
        middle=r"ortasın\w*|ortaları\w*",
        late=r"sonun\w*|sonları\w*",
        on=r"günü",
        within=r"içinde|boyunca|(?:'?(?:de|da|te|ta))",
        after_year=r"yılında|yılı",
        fillers=r"yaklaşık|tam|tüm|bütün|ayı\w*|ayında",
        ordinals=(r"ilk|birinci|1\.", r"ikinci|2\.", r"üçüncü|3\.", r"dördüncü|4\."),
        numbers="on bir=11|on iki=12|on dört=14|on beş=15|yirmi=20|otuz=30|birkaç=0",
        ending=r"(?:'?(?:de|da|te|ta|den|dan|ten|tan|nin|nın|nün|nun|in|ın|ye|ya|e|a|yi|yı|i|ı|deki|daki))?",
        past=r"\w+[dt][ıiuü](?:k|m|n|lar|ler|nız|niz|nuz|nüz)?|\w*m[ıiuü]şt\w+|\w+[dt]ığ\w+|\w+[dt]iğ\w+|\w+[dt]uğ\w+|\w+[dt]üğ\w+",
        generic=r"bili\w+|hatırla\w*|"
        r"konuş\w+|söyle\w+|de(?:dim|dik|di)|oldu\w*|olan\w*|anlat\w*|özetle\w*|özet|konu\w*|sohbet\w*|yaptık"
        r"|yaptım|bahset\w+|göster\w*|mesaj\w*|sordu\w*|şeyler|neler|hakkında|tartış\w+|yazd\w+|beraber|birlikte",
        bare_days=True,
    ),
)
