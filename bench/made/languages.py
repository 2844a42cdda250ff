"""The same few sentences in many languages, written for these measurements."""

from __future__ import annotations

LANGUAGES = {
    "German": (
        "Heute Morgen bin ich auf den Markt gegangen und habe frisches Gemüse gekauft. Das Wetter war sehr "
        "schön, deshalb sind wir im Park spazieren gegangen. Meine Schwester wohnt in Berlin und unterrichtet "
        "an einer Schule. Bitte teilen Sie mir den Stand meiner Bestellung mit, denn ich habe die Ware noch "
        "nicht erhalten."
    ),
    "French": (
        "Ce matin, je suis allé au marché et j'ai acheté des légumes frais. Il faisait très beau, c'est "
        "pourquoi nous nous sommes promenés dans le parc. Ma sœur habite à Lyon et enseigne dans une école. "
        "Pourriez-vous m'indiquer où en est ma commande ? Je n'ai toujours pas reçu la marchandise."
    ),
    "Spanish": (
        "Esta mañana fui al mercado y compré verduras frescas. Hacía muy buen tiempo, así que dimos un paseo "
        "por el parque. Mi hermana vive en Madrid y enseña en una escuela. Por favor, dígame el estado de "
        "mi pedido, porque todavía no he recibido la mercancía."
    ),
    "Polish": (
        "Dziś rano poszedłem na targ i kupiłem świeże warzywa. Pogoda była bardzo ładna, dlatego poszliśmy "
        "na spacer do parku. Moja siostra mieszka w Krakowie i uczy w szkole. Proszę o informację o stanie "
        "zamówienia, ponieważ nie otrzymałem jeszcze towaru."
    ),
    "Finnish": (
        "Tänä aamuna menin torille ja ostin tuoreita vihanneksia. Sää oli erittäin kaunis, joten kävelimme "
        "puistossa. Sisareni asuu Tampereella ja opettaa koulussa. Kertokaa minulle tilaukseni tilanne, "
        "koska en ole vielä saanut tavaraa."
    ),
    "Turkish": (
        "Bu sabah pazara gittim ve taze sebze aldım. Hava çok güzeldi, bu yüzden parkta yürüyüşe çıktık. "
        "Kız kardeşim Ankara'da yaşıyor ve bir okulda öğretmenlik yapıyor. Lütfen siparişimin durumunu bildirin, "
        "çünkü ürünü hâlâ almadım."
    ),
    "Vietnamese": (
        "Sáng nay tôi đi chợ và mua rau tươi. Thời tiết rất đẹp nên chúng tôi đi dạo trong công viên. Chị "
        "tôi sống ở Hà Nội và dạy học ở một trường. Xin cho tôi biết tình trạng đơn hàng, vì tôi vẫn chưa "
        "nhận được hàng."
    ),
    "Greek": (
        "Σήμερα το πρωί πήγα στην αγορά και αγόρασα φρέσκα λαχανικά. Ο καιρός ήταν πολύ καλός, γι' αυτό "
        "κάναμε μια βόλτα στο πάρκο. Η αδελφή μου μένει στην Αθήνα και διδάσκει σε ένα σχολείο."
    ),
    "Russian": (
        "Сегодня утром я пошёл на рынок и купил свежие овощи. Погода была очень хорошая, поэтому мы гуляли "
        "в парке. Моя сестра живёт в Москве и работает учительницей в школе. Пожалуйста, сообщите мне о "
        "состоянии заказа, потому что я до сих пор не получил товар."
    ),
    "Hebrew": (
        "הבוקר הלכתי לשוק וקניתי ירקות טריים. מזג האוויר היה נהדר, ולכן יצאנו לטייל בפארק. אחותי גרה בירושלים "
        "ומלמדת בבית ספר. בבקשה תגידו לי מה מצב ההזמנה שלי."
    ),
    "Arabic": (
        "ذهبت هذا الصباح إلى السوق واشتريت خضروات طازجة. كان الطقس جميلا جدا، ولذلك خرجنا للتنزه في الحديقة. "
        "تعيش أختي في القاهرة وتعمل معلمة في مدرسة. من فضلك أخبرني عن حالة طلبي، لأنني لم أستلم البضاعة "
        "حتى الآن. يمكن للنظام أن يحفظ المحادثات السابقة ويستخدمها في الإجابة عن الأسئلة الجديدة."
    ),
    "Persian": (
        "امروز صبح به بازار رفتم و سبزیجات تازه خریدم. هوا خیلی خوب بود، به همین دلیل در پارک قدم زدیم. "
        "خواهرم در تهران زندگی می‌کند."
    ),
    "Hindi": (
        "भारत एक विशाल देश है जहाँ अनेक भाषाएँ बोली जाती हैं। आज सुबह मैं बाज़ार गया और ताज़ी सब्ज़ियाँ "
        "खरीदीं। मौसम बहुत अच्छा था, इसलिए हम पार्क में घूमने गए। मेरी बहन दिल्ली में रहती है और एक विद्यालय "
        "में पढ़ाती है। कृपया मेरे आदेश की स्थिति बताइए, क्योंकि मुझे अभी तक सामान नहीं मिला है।"
    ),
    "Bengali": (
        "আজ সকালে আমি বাজারে গিয়ে তাজা সবজি কিনেছি। আবহাওয়া খুব ভালো ছিল, তাই আমরা পার্কে হাঁটতে গিয়েছিলাম। "
        "আমার বোন ঢাকায় থাকে এবং একটি স্কুলে পড়ায়।"
    ),
    "Tamil": (
        "இன்று காலை நான் சந்தைக்குச் சென்று புதிய காய்கறிகளை வாங்கினேன். வானிலை மிகவும் நன்றாக இருந்தது, எனவே நாங்கள் பூங்காவில் நடந்தோம்."
    ),
    "Telugu": ("ఈ రోజు ఉదయం నేను మార్కెట్‌కు వెళ్లి తాజా కూరగాయలు కొన్నాను. వాతావరణం చాలా బాగుంది, కాబట్టి మేము పార్కులో నడిచాము."),
    "Thai": ("เช้านี้ฉันไปตลาดและซื้อผักสด อากาศดีมาก เราจึงไปเดินเล่นในสวนสาธารณะ พี่สาวของฉันอยู่ที่กรุงเทพและสอนหนังสือในโรงเรียน"),
    "Georgian": (
        "დღეს დილით ბაზარში წავედი და ახალი ბოსტნეული ვიყიდე. ამინდი ძალიან კარგი იყო, ამიტომ პარკში ვისეირნეთ."
    ),
    "Armenian": (
        "Այսօր առավոտյան ես գնացի շուկա և գնեցի թարմ բանջարեղեն։ Եղանակը շատ լավն էր, ուստի մենք զբոսնեցինք այգում։"
    ),
    "Amharic": ("ዛሬ ጠዋት ወደ ገበያ ሄጄ ትኩስ አትክልት ገዛሁ። የአየር ሁኔታው በጣም ጥሩ ነበር፣ ስለዚህ በፓርኩ ውስጥ ተጓዝን።"),
    "Chinese, simplified": (
        "今天早上我去市场买了新鲜的蔬菜。天气很好，所以我们去公园散步。我姐姐住在北京，在一所学校教书。请"
        "告诉我订单的状态，因为我还没有收到货物。系统可以保存以前的对话，并用它们来回答新的问题。"
    ),
    "Chinese, traditional": (
        "今天早上我去市場買了新鮮的蔬菜。天氣很好，所以我們去公園散步。我姐姐住在臺北，在一所學校教書。請"
        "告訴我訂單的狀態，因為我還沒有收到貨物。系統可以保存以前的對話，並用它們來回答新的問題。"
    ),
    "Japanese": (
        "今朝、市場に行って新鮮な野菜を買いました。天気がとても良かったので、公園を散歩しました。姉は東京"
        "に住んでいて、学校で教えています。まだ商品が届いていないので、注文の状況を教えてください。システ"
        "ムは以前の会話を保存して、新しい質問に答えるために使うことができます。"
    ),
    "Korean": (
        "오늘 아침에 시장에 가서 신선한 채소를 샀습니다. 날씨가 아주 좋아서 우리는 공원을 산책했습니다. "
        "누나는 서울에 살고 학교에서 가르칩니다. 아직 물건을 받지 못했으니 주문 상태를 알려 주세요. 시스템은 "
        "이전 대화를 저장하고 새로운 질문에 답하는 데 사용할 수 있습니다."
    ),
}
