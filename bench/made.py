"""Made conversations with questions whose answering messages are known: by hand, by rule, and known items.

`by_hand` reads bench/conversations, `by_rule` makes a conversation of one of KINDS_BY_RULE from a seed, and
`known_items` makes questions for any messages: half of the content words of one sentence of one message.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast

from memorybase.keywords import STOP_WORDS, analyzer

FOLDER = Path(__file__).parent / "conversations"
LONG_ANSWERS = "assistant with long answers"
TWO_PEOPLE = "two people"
KINDS_BY_RULE = (LONG_ANSWERS, TWO_PEOPLE)

FIRST_DAY = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
QUESTION_WORDS = 6  # a sentence with fewer content words makes no known item
ANSWER_CHARS = (1_050, 4_000)
REQUEST_CHARS = (60, 300)


class Message(TypedDict):
    """One turn; `sender_name` only where several people talk."""

    id: str
    session: str
    role: str
    sender_name: NotRequired[str]
    content: str
    timestamp: str


class Question(TypedDict):
    """`evidence`: the ids of all messages that answer it, none for an abstention."""

    question: str
    category: str
    evidence: list[str]


class MadeConversation(TypedDict):
    """What a file of bench/conversations holds, and what `by_rule` makes."""

    id: str
    kind: str
    messages: list[Message]
    questions: list[Question]


def by_hand() -> list[dict[str, Any]]:
    """The conversations of bench/conversations, in the order of the files' names."""
    return [json.loads(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*.json"))]


def by_rule(seed: int, kind: str) -> dict[str, Any]:
    """A conversation of one of KINDS_BY_RULE, the same one for the same seed."""
    makers = {LONG_ANSWERS: _long_answers, TWO_PEOPLE: _two_people}
    if kind not in makers:
        raise ValueError(f"kind must be one of {', '.join(KINDS_BY_RULE)} (got {kind!r})")
    made = makers[kind](random.Random(f"{kind} {seed}"), seed)
    return cast("dict[str, Any]", made)


def known_items(
    messages: Sequence[Mapping[str, Any]], *, seed: int, count: int, roles: Collection[str]
) -> list[dict[str, Any]]:
    """Questions for at most `count` sentences of messages of these roles, in half of their content words.

    A user's sentence gives the bare words; an assistant's also a question about what it said. A sentence whose words
    another message says too is left out.
    """
    rng = random.Random(seed)
    said = [[(words, set(words)) for words in _sentences(str(message["content"]))] for message in messages]
    drawn = {
        index: rng.sample(long, len(long))
        for index, sentences in enumerate(said)
        if messages[index]["role"] in roles
        and (long := [words for words, distinct in sentences if len(distinct) >= QUESTION_WORDS])
    }
    questions: list[dict[str, Any]] = []
    left = count
    while left and drawn:
        index = rng.choice(list(drawn))
        words = drawn[index].pop()
        if not drawn[index]:
            del drawn[index]
        asked = _half(rng, words)
        others = (distinct for other, each in enumerate(said) if other != index for _, distinct in each)
        if any(distinct.issuperset(asked) for distinct in others):
            continue
        left -= 1
        evidence = [messages[index]["id"]]
        if messages[index]["role"] == "assistant":
            verb = rng.choice(("say", "recommend"))
            text = f"What did you {verb} about {' '.join(asked)}?"
            questions.append({"question": text, "category": "known-said", "evidence": evidence})
        questions.append({"question": " ".join(asked), "category": "known-bare", "evidence": list(evidence)})
    return questions


_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_LIST_MARK = re.compile(r"^\s*(?:[-*+>#]+|\d+[.)])\s+")
_CONTRACTION = re.compile(r"\b\w+(?:n['\u2019]t|['\u2019](?:ll|ve|re|d|m|clock))\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?\u2026:;])\s+")


def _sentences(text: str) -> Iterator[list[str]]:
    """The content words of each sentence outside code, in order."""
    words_of = analyzer("english").words
    for line in _FENCED.sub("\n", text).splitlines():
        for sentence in _SENTENCE_END.split(_LIST_MARK.sub("", line)):
            yield [word for word in words_of(_CONTRACTION.sub(" ", sentence)) if word not in STOP_WORDS["english"]]


def _half(rng: random.Random, words: Sequence[str]) -> list[str]:
    """Half of the distinct words, in their order."""
    distinct = list(dict.fromkeys(words))
    kept = sorted(rng.sample(range(len(distinct)), (len(distinct) + 1) // 2))
    return [distinct[position] for position in kept]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _unwrapped(bank: str) -> str:
    """A bank's lines; what is indented continues the line before."""
    return bank.strip().replace("\n  ", " ")


class _Draw:
    """Hands out the items of a list in random order, and begins anew when all were used."""

    def __init__(self, rng: random.Random, items: Collection[str]) -> None:
        order = list(items)
        rng.shuffle(order)
        self._items = cycle(order)

    def __call__(self) -> str:
        return next(self._items)


class _Clock:
    """Sessions days apart, messages of one session minutes apart."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._day = FIRST_DAY
        self._now = FIRST_DAY

    def next_session(self) -> None:
        self._day += timedelta(days=self._rng.randint(2, 6))
        self._now = self._day + timedelta(minutes=self._rng.randint(0, 720))

    def next_message(self) -> str:
        self._now += timedelta(seconds=self._rng.randint(40, 240))
        return self._now.strftime("%Y-%m-%dT%H:%M:%SZ")


# --- An assistant with long answers ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Fact:
    """What a user states in passing: `clause` has a place for one of `values`."""

    clause: str
    question: str
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Topic:
    name: str
    things: Sequence[str]
    actions: Sequence[str]
    qualities: Sequence[str]
    goals: Sequence[str]
    facts: Sequence[_Fact]
    advice: Sequence[tuple[str, str]]  # the question, and what the assistant said


_TOPICS_TEXT = """
topic: the vegetable garden
things: raised bed, seedling tray, compost heap, water butt, bean pole, cold frame, mulch, drip hose, seed packet,
  path
actions: sow, thin out, water, mulch, rotate, harvest, weed, feed, cover, transplant
qualities: loamy, shady, well drained, frost free, overgrown, sunny, dry, weedy
goal: keep the slugs away from the lettuce
goal: plan which crop follows which over three years
goal: get tomatoes before the end of the summer
goal: water everything while we are away
fact: my longest raised bed measures {} | How long is my biggest raised bed? | 3.4 metres; 4.7 metres; 5.2 metres; 6.1
  metres
fact: the soil test came back at pH {} | What was the result of my soil test? | 5.6; 5.9; 7.3; 7.8
fact: my neighbour {} lets me use his tap | Whose tap may I use? | Anselm; Gregor; Matteo; Silvan
fact: the beans are a variety called {} | Which beans do I grow? | Blue Ladder; Widow's Lace; Old Parson; Red Ferry
advice: What should I water the beds with, in your opinion? | Take rain from the roof rather than the tap, since cold
  mains water checks the roots.
advice: Which trick with wool did you mention for the garden? | Lay raw sheep's wool around young stems: snails hate
  to crawl over it.
advice: When did you tell me to pick salad leaves? | Cut leaves at dawn, while they are still stiff with the night.

topic: the touring bicycle
things: rear wheel, chain, brake pad, gear cable, pannier, bottom bracket, spoke, saddle, tyre lever, pedal
actions: clean, grease, true, tighten, replace, measure, index, patch, test ride, torque
qualities: worn, squeaky, loose, rusty, light, waterproof, spare, stiff
goal: stop the gears from slipping uphill
goal: pack for two weeks with a tent
goal: get the bottom bracket out without special tools
goal: prepare the brakes for a ride over the passes
fact: the frame is a {} that I bought second-hand | What size is my bicycle frame? | 54 centimetre one; 56 centimetre
  one; 58 centimetre one; 60 centimetre one
fact: my chain has done {} so far | How far has my chain gone? | 2,900 kilometres; 3,700 kilometres; 4,400 kilometres;
  5,300 kilometres
fact: I ride with my cousin {} most Saturdays | With whom do I usually go cycling? | Bettina; Clemens; Fabia; Rufus
fact: we want to start the tour in {} | Where does our bicycle trip begin? | Almsund; Brenwick; Castelro; Dornhaven
advice: How did you say I can find a creak in the frame? | Hold a long screwdriver against your ear and the frame
  while a friend pedals on the stand.
advice: What did you advise for the weight of the luggage? | Two thirds of the load belongs low at the front, where it
  steadies the steering.
advice: What did you say about carrying a spare cable? | Tape one inner gear cable along the seat tube; it weighs
  nothing and has saved many holidays.

topic: the customer database
things: index, table, query plan, connection pool, migration, backup, foreign key, replica, transaction, vacuum
actions: partition, analyse, restore, lock, roll back, index, archive, monitor, rewrite, benchmark
qualities: slow, stale, bloated, nullable, unique, read-only, nightly, blocking
goal: make the monthly report finish sooner
goal: move the addresses into a table of their own
goal: rehearse a restore without touching production
goal: find out who holds the lock at night
fact: our orders table has {} rows by now | How many rows are in the orders table? | 38 million; 52 million; 67
  million; 91 million
fact: the nightly dump takes {} | How long does the nightly dump run? | 23 minutes; 41 minutes; 57 minutes; 74 minutes
fact: the old server is named {} | What is our old database server called? | heron; magpie; bittern; lapwing
fact: only {} has the password of the owner role | Who knows the password of the owner role? | Priska; Valentin;
  Odile; Konrad
advice: What limit did you recommend for statements from the web application? | Give the web role a statement timeout
  of eight seconds and let reports use a role without one.
advice: How did you say we should add the column on a busy table? | Add it nullable first, fill it in slices at lunch,
  and set the constraint as not valid until the weekend.
advice: What did you recommend against idle sessions? | End every session that sits idle inside a transaction for a
  minute, and log which host it came from.

topic: the kitchen renovation
things: worktop, splashback, extractor hood, drawer unit, socket, tile, plinth, tap, oven housing, window sill
actions: measure, level, prime, seal, wire, cut, hang, grout, sand, order
qualities: chipped, matt, oiled, fire resistant, crooked, narrow, washable, bright
goal: choose between stone and wood for the surface
goal: find room for a dishwasher
goal: cook somewhere while the floor is out
goal: tile the wall behind the cooker
fact: our kitchen is only {} wide | How wide is our kitchen? | 2.15 metres; 2.35 metres; 2.55 metres; 2.85 metres
fact: the electrician can come on {} | When will the electrician be here? | 9 June; 17 June; 23 June; 30 June
fact: we agreed to spend at most {} on it | What is our limit for the new kitchen? | 8,700 crowns; 9,300 crowns;
  11,800 crowns; 13,600 crowns
fact: the cupboards will be painted in {} | Which colour will the cupboards have? | pigeon blue; moss green; ochre;
  oxblood
advice: Where did you say the sockets should go? | Put two double sockets inside the drawer for the mixer, so that
  nothing stands about.
advice: How did you tell me to test a hood before buying? | Hold a sheet of paper under it in the shop: a good one
  keeps the page at the middle speed.
advice: What did you say about oiling wood? | Thin the first coat of oil with turpentine and wipe off everything that
  stands after a quarter of an hour.

topic: the marathon training
things: long run, interval, tempo session, rest day, cadence, blister, carbohydrate, hill repeat, warm-up, taper
actions: jog, stretch, pace, recover, hydrate, sleep, alternate, taper, log, cross-train
qualities: easy, tired, steep, sore, hilly, humid, cushioned, aerobic
goal: get through the last ten kilometres
goal: train around night shifts
goal: stop my shins from hurting
goal: decide what to eat before the start
fact: my best time for the half distance is {} | What is my personal best for the half marathon? | 1:47:20; 1:52:05;
  1:58:40; 2:03:15
fact: my resting pulse is {} in the morning | What is my pulse at rest? | 47 beats; 51 beats; 56 beats; 62 beats
fact: the physiotherapist's name is {} | Who treats my legs? | Ms Adeyo-Lind; Mr Varga-Holm; Ms Tesfai-Roth; Mr
  Calloway-Brandt
fact: I signed up for the race in {} | Which race have I entered? | Kestrel Bay; Norrhamn; Vale of Orme; Lindau Point
advice: What did you tell me to do with the laces? | Lace with a runner's loop at the top eyelet and leave the third
  pair open over the instep.
advice: Which drink did you recommend after long runs? | Cold cocoa with a pinch of salt does what the expensive
  powders promise.
advice: How did you say I should judge an easy pace? | If you cannot recite a poem aloud, it is no longer easy.

topic: the beehives
things: brood frame, queen, smoker, super, entrance, honey comb, mite board, swarm, feeder, hive stand
actions: inspect, feed, treat, split, requeen, extract, insulate, weigh, mark, clean
qualities: calm, drowsy, sticky, sealed, empty, crowded, weak, sunlit
goal: bring a small colony through the winter
goal: harvest without upsetting the neighbours
goal: count mites in a way that I can trust
goal: catch a swarm that sits high in a tree
fact: I keep {} at the edge of the orchard | How many colonies do I have? | five colonies; seven colonies; nine
  colonies; eleven colonies
fact: the queen in the white hive carries a dot in {} | How is the queen of the white hive marked? | turquoise;
  orange; lilac; silver
fact: I get about {} of honey a year | How much honey do I harvest each year? | 46 kilos; 58 kilos; 73 kilos; 85 kilos
fact: I learned it from an old teacher called {} | Who taught me about bees? | Eberhard; Philippa; Leontine; Theodric
advice: What did you suggest as fuel for the smoke? | Dried puffball or old jute smoulders cool; leave the cardboard
  at home because of its glue.
advice: What did you tell me to do about stings? | Scrape the sting off sideways with a fingernail within three
  seconds and smoke the place.
advice: How did you say I find out the weight of a hive? | Lift one side with a luggage scale and double what it says.

topic: my Portuguese lessons
things: vocabulary card, verb table, podcast, dialogue, nasal vowel, past tense, tutor, exercise book, subtitle,
  accent
actions: repeat, record, translate, shadow, spell, listen, conjugate, revise, read aloud, guess
qualities: irregular, spoken, fluent, silent, polite, idiomatic, everyday, nasal
goal: remember words for longer than a week
goal: understand people on the telephone
goal: get the subjunctive into my head
goal: find someone to speak with after work
fact: I have been learning for {} | How long have I been learning Portuguese? | fourteen months; nineteen months;
  twenty-two months; twenty-seven months
fact: my exam is on {} | When is my language exam? | 4 September; 12 September; 19 September; 26 September
fact: my tutor {} lives in a lighthouse, I swear | What is my tutor called? | Benedita; Caetano; Filomena; Joaquina
fact: I got {} out of a hundred in the mock test | How did I do in the mock test? | 61 points; 68 points; 74 points;
  83 points
advice: What did you suggest I do while washing up? | Describe aloud what your hands are doing, badly and without
  stopping, for as long as the plates last.
advice: How many new words a day did you allow me? | Seven new words a day and not one more, until the old ones bore
  you.
advice: What did you recommend reading first? | Begin with a cookery book: short orders, concrete nouns, and you can
  eat the homework.

topic: the household budget
things: standing order, savings account, insurance, electricity bill, grocery list, subscription, envelope, loan,
  receipt, spreadsheet
actions: cancel, categorise, transfer, compare, postpone, round up, forecast, negotiate, split, review
qualities: monthly, forgotten, fixed, surprising, shared, overdue, cheap, seasonal
goal: see where the money goes each month
goal: save for a roof without noticing it
goal: share costs fairly with a flatmate
goal: get rid of contracts that nobody uses
fact: our rent has been {} since the spring | What do we pay in rent? | 945 crowns; 1,080 crowns; 1,265 crowns; 1,390
  crowns
fact: I put {} aside every month | How much do I save a month? | 135 crowns; 160 crowns; 215 crowns; 270 crowns
fact: the loan for the car ends in {} | When is the car paid off? | November 2027; February 2028; May 2028; October
  2028
fact: my flatmate {} pays for the internet | Who pays for the internet? | Ilka; Jorunn; Radek; Thandi
advice: On which day did you say I should look at the accounts? | Look at it on the tenth, when the month is old
  enough to be honest and young enough to change.
advice: What did you suggest for presents in the budget? | Treat birthdays as a bill: one twelfth of last year's total
  leaves the account each month.
advice: What did you recommend before cancelling the insurance? | Ask for the surrender value in writing and wait one
  night before you sign.

topic: the club's web site
things: landing page, contact form, stylesheet, deployment, certificate, cache, redirect, image, sitemap, login page
actions: deploy, compress, redirect, render, validate, cache, test, translate, archive, roll back
qualities: responsive, static, broken, accessible, slow, secure, cached, outdated
goal: make the start page load faster on phones
goal: let members change their own addresses
goal: publish the calendar without copying it by hand
goal: move to another host over a weekend
fact: we get about {} visitors a week | How many people visit the club's site in a week? | 420; 610; 870; 1,150
fact: the domain has to be renewed on {} | When does the club's domain run out? | 3 October; 14 October; 22 October;
  28 October
fact: {} wrote the first version years ago | Who built the club's site originally? | Aurelio; Dagny; Hanneke; Tibor
fact: the members' area still runs on a machine in {} | Where does the server of the members' area stand? | the
  boathouse; the laundry room; the old dairy; the bell tower
advice: Which size did you recommend for pictures? | Keep photographs at 1,400 pixels on the long side and let the
  browser load them only when they scroll into sight.
advice: What did you say about the contact form and spam? | Add a field that people cannot see; whoever fills it in is
  a machine.
advice: How long before the move did you tell me to change the name records? | Lower the lifetime of the name records
  to five minutes two days before you move.

topic: learning the piano
things: left hand, scale, pedal, metronome, fingering, chord, sheet music, trill, phrase, practice diary
actions: count, slow down, repeat, memorise, mark, relax, sight-read, transpose, listen, play
qualities: legato, tense, soft, uneven, loud, slow, muddy, steady
goal: play both hands together without stopping
goal: practise in a flat with thin walls
goal: get over my nerves before the summer recital
goal: learn to read the bass clef
fact: my teacher is called {} | Who is my piano teacher? | Mrs Ferrant; Mr Oduya; Mrs Lindqvist-Hale; Mr Zabo
fact: the tuner says that the instrument was built in {} | How old is my piano? | 1894; 1907; 1923; 1938
fact: the recital is on {} | When do I have to play in front of people? | 13 June; 20 June; 27 June; 4 July
fact: I may only play until {} because of the baby downstairs | Until when may I play in the evening? | 18:45; 19:15;
  19:50; 20:20
advice: What did you tell me to do with a bar that keeps going wrong? | Play the bar backwards, note by note, three
  times; the hands forget the mistake on the way.
advice: What did you say about the height of the stool? | Sit so that the elbow is a finger's breadth above the keys.
advice: What did you suggest against cold hands before a performance? | Warm rice in a sock, held for ten minutes,
  beats any gloves.

topic: the move to the new flat
things: moving box, removal van, lift, lease, key, meter reading, bookcase, parking permit, mattress, lamp
actions: label, wrap, carry, dismantle, notify, donate, measure, book, store, insure
qualities: fragile, heavy, empty, third-floor, double, borrowed, narrow, damp
goal: get a wardrobe up a narrow staircase
goal: hand over the old place without a quarrel
goal: keep the cat calm while everything is carried out
goal: decide what to throw away
fact: the new lease begins on {} | When does my new lease start? | 15 March; 1 April; 15 April; 1 May
fact: I have counted {} boxes of books | How many boxes of books do I have? | 27; 33; 39; 44
fact: {} is lending me a van | Who lends me a van? | Ottokar; Severin; Wilhelmina; Yannick
fact: the deposit for the old place was {} | How high was my deposit? | 1,620 crowns; 1,875 crowns; 2,040 crowns;
  2,310 crowns
advice: What should be in the last box, according to you? | Pack the last box as if for a night train: kettle, soap,
  screwdriver, towel, light bulb.
advice: What did you say about photographing the old rooms? | Film every room in one take with a newspaper of the day
  in the picture.
advice: How did you suggest numbering boxes? | Number them on two sides and the top, and keep the contents in a
  notebook, so that thieves learn nothing.

topic: photographing birds
things: tripod, shutter, telephoto lens, hide, exposure, autofocus, memory card, perch, backlight, histogram
actions: focus, crop, bracket, wait, pan, underexpose, sharpen, sort, back up, delete
qualities: blurred, backlit, noisy, sharp, golden, skittish, distant, cloudy
goal: get kingfishers sharp in poor light
goal: sort four thousand pictures before the holidays
goal: build a hide that fits in a rucksack
goal: photograph gulls in flight
fact: I bought my lens used for {} | What did I pay for the lens? | 340 crowns; 480 crowns; 560 crowns; 690 crowns
fact: the exhibition opens on {} | When does my exhibition open? | 6 November; 13 November; 20 November; 27 November
fact: my favourite place is a pond behind {} | Where is the pond that I like best? | the brickworks; the tannery; the
  tram depot; the old barracks
fact: my camera manages {} a second | How fast is my camera? | eight frames; ten frames; twelve frames; fifteen frames
advice: Which clothes did you advise against in a hide? | Leave anything that rustles at home; a woollen jumper is
  worth more than camouflage.
advice: What was your rule for deleting? | Delete on the third look, never on the first, and never on the train.
advice: How did you tell me to aim at the eye? | Put the focus on the eye and accept every blur behind it.

topic: the aquarium
things: filter, heater, gravel, snail, plant, test strip, airstone, algae, lamp, water change
actions: cycle, rinse, acclimatise, prune, siphon, test, feed, quarantine, dim, top up
qualities: cloudy, planted, warm, hard, green, new, quiet, balanced
goal: find out why the water turned green
goal: go on holiday for ten days without losing fish
goal: add shrimps without harming the others
goal: move the tank to another wall
fact: my tank holds {} | What is the volume of my tank? | 96 litres; 112 litres; 128 litres; 180 litres
fact: the heater is set to {} | Which temperature is the heater set to? | 22.5 degrees; 23.5 degrees; 24.5 degrees;
  26.5 degrees
fact: my eldest fish goes by the name of {} | What is my oldest fish called? | Admiral; Biscotti; Mortimer;
  Pamplemousse
fact: I change the water every {} | How often do I renew the water? | six days; nine days; twelve days; sixteen days
advice: What did you suggest against algae on the glass? | Use an old plastic card instead of a blade; it leaves no
  scratches at the seams.
advice: What did you tell me about feeding on one day of the week? | Skip food on one day a week and nobody in the
  tank will write you a letter.
advice: How did you say new fish should get used to the water? | Let air tubing with a knot drip into the bag for an
  hour.

topic: the novel that I am writing
things: chapter, narrator, subplot, dialogue, opening line, draft, villain, flashback, scene, ending
actions: outline, rewrite, cut, describe, foreshadow, read aloud, revise, merge, rename, print
qualities: wooden, rushed, unreliable, quiet, overlong, vivid, sad, funny
goal: make the middle part less dull
goal: give the villain a reason
goal: write dialogue that does not sound like a lecture
goal: find readers who tell the truth
fact: my draft has reached {} words | How long is my draft? | 41,000; 53,500; 62,000; 78,500
fact: my heroine is called {} | What is the name of my heroine? | Ysolde Marr; Corrie Vane; Hester Quill; Nadine
  Thorpe
fact: it takes place in {} | Where is my story set? | a salt mine; a closed spa; a signal station; a tulip nursery
fact: I want to be finished by {} | When do I mean to finish the book? | Midsummer; the first frost; Candlemas; All
  Souls
advice: What did you say to do with the first chapter? | Put the first chapter in a drawer and see whether anybody
  misses it.
advice: How did you suggest I test dialogue? | Cover the names: if you cannot tell who speaks, give each of them a
  thing they never say.
advice: When did you tell me to stop writing each day? | Stop in the middle of a sentence that you know the end of.

topic: the small shop's stock
things: invoice, shelf, supplier, stocktake, barcode, delivery note, margin, returns pile, price tag, reorder point
actions: count, reorder, discount, label, reconcile, bundle, forecast, write off, audit, stack
qualities: slow-moving, seasonal, damaged, out of stock, overpriced, perishable, popular, mislabelled
goal: know when to order again
goal: do the stocktake in one evening
goal: sell what has been lying there since last winter
goal: bring supplier prices into one list
fact: we carry {} different articles | How many articles does the shop carry? | 640; 780; 930; 1,240
fact: the largest supplier delivers on {} | On which day does our main supplier come? | Mondays at six; Tuesdays at
  seven; Thursdays at five; Fridays at half past six
fact: our average margin is {} | What is our margin on average? | 27 percent; 31 percent; 34 percent; 38 percent
fact: {} has the key to the cellar store | Who keeps the cellar key? | Amaru; Birgitta; Emeka; Solveig
advice: What did you suggest for goods nobody buys? | Carry the dead stock to the till and give it a handwritten story
  instead of a lower price.
advice: Which article did you say I should count first? | Count what is small and dear first, while everybody is
  awake.
advice: How did you say a reorder point is found? | Take the sales of the worst fortnight, add half, and reorder when
  the shelf falls below it.

topic: the hut-to-hut walk
things: rucksack, hut, ridge, map, rain jacket, contour line, blister plaster, snowfield, spring, walking pole
actions: climb, descend, navigate, book, rest, refill, turn back, ration, dry, scout
qualities: exposed, steep, foggy, marked, remote, soaked, early, slippery
goal: plan five days with a child of eleven
goal: keep my feet dry on wet rock
goal: know when to turn round
goal: find water on the high part
fact: my rucksack weighs {} with food | How heavy is my rucksack? | 9.6 kilos; 10.8 kilos; 12.3 kilos; 13.9 kilos
fact: the highest point is at {} | How high do we climb at most? | 2,310 metres; 2,540 metres; 2,680 metres; 2,870
  metres
fact: we have booked the first night at {} | Where do we sleep on the first night of the walk? | Raven Hut; Three
  Larch Hut; Milkwater Hut; Cold Saddle Hut
fact: our train leaves at {} | At what time does our train go? | 5:52; 6:08; 6:37; 7:14
advice: What hour did you give for leaving the ridge? | Be off the ridge by one o'clock, whatever the sky promises.
advice: What did you recommend for keeping a child going? | Let the child carry the map and announce each bend.
advice: Which rule about socks did you give me? | Change socks at noon and dry the others on the rucksack straps.
"""

# Where the user's fact stands in a request: {goal} is what they want, {fact} what they say in passing.
_REQUESTS = (
    "Can you help me {goal}? {Fact}, in case that matters, and I have about an hour each evening.",
    "{Fact}. Now I would like to {goal}, and I don't know where to begin. What are the steps?",
    "I need to {goal}. I should add that {fact}, so please keep your answer practical.",
    "So, {topic} again. {Fact}, and the next thing is to {goal}. How would you go about it?",
    "What is a sensible way to {goal}? You may want to know that {fact}.",
    "Since {fact}, everyone gives me different advice. What I really want is to {goal}. Could you write me a plan?",
    "Please explain to a beginner how to {goal}; {fact}, if that is any help to you.",
    "Quick one before work: {fact}. Does that change anything if I want to {goal}?",
    "I was talking about {topic} with a friend and mentioned that {fact}. She asked how I intend to {goal}. Well?",
    "Could you make a checklist so that I can {goal}? Just so you have the picture: {fact}.",
    "My plan for the month is to {goal}. {Fact}, which is more than I expected when I started.",
    "How do other people {goal}? I ask because {fact} and I feel that I am doing too much by hand.",
)
_UPDATES = (
    "A correction to what I told you earlier: {fact} now. With that in mind, how do I {goal}?",
    "Things have changed since we last spoke, {fact} these days. Can we go over how to {goal} once more?",
    "I have to revise something: by now {fact}. Does your advice on how to {goal} still hold?",
    "News about {topic}: {fact} after all, not what I said before. Could you help me {goal} under these conditions?",
)
_OPENINGS = (
    "That is a good thing to ask early, because {topic} punishes haste more than anything else.",
    "Here is how I would approach it, step by step, with {topic} in mind.",
    "Happy to help with {topic}. Let me start with the overview and then go into detail.",
    "Thanks for the background. The short answer is that the {a} decides most of it; the long answer follows.",
    "There are several ways to do this, and which one is right depends on your {a} and on your {b}.",
    "You are closer than you think: once the {a} is in order, the rest of the work goes quickly.",
)
_STEPS = (
    "Look at the {a} first, since a {quality} {a} spoils everything that comes after it.",
    "Write down the state of the {a} and of the {b}, with today's date, before you {do} anything.",
    "{Do} the {a} slowly, and only when the {b} is out of the way.",
    "Check whether the {a} is {quality}; if it is, {do} it before you touch the {b}.",
    "Set aside half an hour to {do} the {a}, and another half hour to {do2} the {b}.",
    "Compare the {a} with the {b}: if one of them looks {quality}, that is where you start.",
    "Ask somebody to hold the {b} while you {do} the {a}.",
    "Only now {do} the {a}; earlier it would have been in the way of the {b}.",
    "Wait a day, then {do2} the {a} again and see whether it has stayed as you left it.",
    "Put the {a} back, {do} what is left of the {b}, and tidy up before dark.",
    "Repeat with the next {a}, but {do2} it a little less than the first.",
    "Finish by going over the {b}, because a {quality} {b} is what people notice.",
)
_PITFALLS = (
    "**A {quality} {a}.** It looks harmless at first, and then the {b} suffers for weeks.",
    "**Too much at once.** Whoever tries to {do} and {do2} on the same day does neither well.",
    "**Forgetting the {a}.** Nearly everybody does, because the {b} takes all the attention.",
    "**The wrong order.** If you {do} the {a} after the {b}, you will have to begin again.",
    "**Cheap replacements.** A {quality} {a} costs less in the shop and more by the end of the year.",
    "**No notes.** Without a record of the {a} you cannot tell whether it helped to {do} it.",
    "**Trusting the {b}.** It may be {quality} on the inside although the {a} looks fine.",
    "**Impatience.** The {a} needs time to settle before anyone should {do} it a second time.",
)
_EXPLANATIONS = (
    "The reason is simple: the {a} and the {b} work against each other as soon as one of them is {quality}.",
    "Many guides tell you to {do} the {a} every week, but in practice that is only needed when it is {quality}.",
    "Think of the {a} as the part that carries the load, and of the {b} as the part that gives way.",
    "A {quality} {a} is not a fault in itself; it becomes one if you {do} it without looking at the {b}.",
    "Experienced people rarely {do} the {a} at all, because they {do2} the {b} in good time.",
    "If you have to choose, spend your effort on the {a}, since a better {b} seldom makes up for a {quality} {a}.",
    "What you can see of the {a} tells you little; what it does when you {do} it tells you nearly everything.",
    "With {topic} it also helps to keep the {b} apart from the {a}, so that a {quality} one does not affect the other.",
    "People disagree whether one should {do} the {a} before or after the {b}; either works if you are careful.",
    "When the {a} turns {quality}, the cause is mostly the {b}, and hardly ever the weather or bad luck.",
)
_CLOSINGS = (
    "Let me know how the {a} looks afterwards, and we can adjust the plan for the {b}.",
    "If any of this is unclear, tell me about the {a} in a little more detail.",
    "Shall I turn this into a checklist for the {a}, or would you rather begin with the {b}?",
    "That should keep you busy for a while; come back when the {b} is done.",
)
_ADVISING = (
    "If you remember one thing from this answer, let it be this. {advice}",
    "One piece of advice that you will not find in most books: {advice}",
    "From all that I know about {topic}, my own recommendation is this. {advice}",
    "A small detail with a large effect: {advice}",
)
_ROW_WORDS = ("first", "before the weekend", "every other week", "if time allows", "when it rains", "last")
_LONG_SESSIONS = 20
_LONG_TURNS = 3  # a user's and the answer to each
_NEW_SESSIONS = 14  # the others come back to a topic of these
_LONG_ABSTENTIONS = 6


def _topics() -> list[_Topic]:
    topics = []
    for block in _unwrapped(_TOPICS_TEXT).split("\n\n"):
        lines = [line.partition(": ")[::2] for line in block.splitlines()]
        rows: dict[str, list[str]] = {key: [value for other, value in lines if other == key] for key, _ in lines}
        facts = [fact.split(" | ") for fact in rows["fact"]]
        topics.append(
            _Topic(
                name=rows["topic"][0],
                things=rows["things"][0].split(", "),
                actions=rows["actions"][0].split(", "),
                qualities=rows["qualities"][0].split(", "),
                goals=rows["goal"],
                facts=[_Fact(clause, question, values.split("; ")) for clause, question, values in facts],
                advice=[(question, said) for question, said in (advice.split(" | ") for advice in rows["advice"])],
            )
        )
    return topics


class _Answerer:
    """Long answers about one topic, in its words; an answer repeats a pattern once it has used all of its kind."""

    def __init__(self, rng: random.Random, topic: _Topic) -> None:
        self._rng = rng
        self._topic = topic

    def answer(self, advice: str | None) -> str:
        """Between 1,000 and 4,000 characters; `advice` stands somewhere in the middle."""
        rng = self._rng
        wanted = rng.randint(*ANSWER_CHARS)
        patterns = {
            "steps": _Draw(rng, _STEPS),
            "pitfalls": _Draw(rng, _PITFALLS),
            "explanations": _Draw(rng, _EXPLANATIONS),
        }
        opening, closing = self._fill(rng.choice(_OPENINGS)), self._fill(rng.choice(_CLOSINGS))
        advised = [self._fill(rng.choice(_ADVISING)).replace("{advice}", advice)] if advice else []
        fixed = sum(len(part) + 2 for part in (opening, closing, *advised))
        sections: list[str] = []
        makers = [self._steps, self._pitfalls, self._explained, self._explained, self._code, self._table]
        rng.shuffle(makers)
        for make in cycle(makers):
            section = make(patterns)
            length = fixed + sum(len(each) + 2 for each in sections)
            if length + len(section) > ANSWER_CHARS[1] - 2 or length >= wanted:
                break
            sections.append(section)
        place = rng.randint(1, len(sections))
        return "\n\n".join([opening, *sections[:place], *advised, *sections[place:], closing])

    def _fill(self, pattern: str) -> str:
        a, b = self._rng.sample(list(self._topic.things), 2)
        do, do2 = self._rng.sample(list(self._topic.actions), 2)
        words = {
            "{a}": a,
            "{b}": b,
            "{do}": do,
            "{Do}": _sentence(do),
            "{do2}": do2,
            "{quality}": self._rng.choice(self._topic.qualities),
            "{topic}": self._topic.name.replace("that I am", "that you are").replace("my ", "your "),
        }
        for place, word in words.items():
            pattern = pattern.replace(place, word)
        return _sentence(re.sub(r"\b([Aa]) (?=(?!uni)[aeiou])", r"\1n ", pattern))

    def _steps(self, patterns: Mapping[str, _Draw]) -> str:
        steps = [self._fill(patterns["steps"]()) for _ in range(self._rng.randint(4, 6))]
        heading = self._fill(
            self._rng.choice(("## How to {do} the {a}", "## Steps for the {a}", "## A plan: {do}, {do2}"))
        )
        return "\n".join([heading, "", *(f"{number}. {step}" for number, step in enumerate(steps, 1))])

    def _pitfalls(self, patterns: Mapping[str, _Draw]) -> str:
        pitfalls = [self._fill(patterns["pitfalls"]()) for _ in range(self._rng.randint(2, 4))]
        heading = self._rng.choice(("### What usually goes wrong", "### Mistakes to avoid", "### Watch out for"))
        return "\n".join([heading, "", *(f"- {pitfall}" for pitfall in pitfalls)])

    def _explained(self, patterns: Mapping[str, _Draw]) -> str:
        return " ".join(self._fill(patterns["explanations"]()) for _ in range(self._rng.randint(2, 4)))

    def _code(self, _: Mapping[str, _Draw]) -> str:
        rng = self._rng
        things = [re.sub(r"\W", "_", thing) for thing in rng.sample(list(self._topic.things), 4)]
        actions = [re.sub(r"\W", "_", action) for action in rng.sample(list(self._topic.actions), 3)]
        quality = re.sub(r"\W", "_", rng.choice(self._topic.qualities))
        shape = rng.choice(("python", "yaml", "sql"))
        if shape == "python":
            lines = [
                f"def {actions[0]}_{things[0]}({things[1]}, {things[2]}):",
                f"    for each in {things[1]}:",
                f'        if each.state == "{quality}":',
                f"            {actions[1]}(each, {things[2]})",
                f"    return {actions[2]}({things[3]})",
            ]
        elif shape == "yaml":
            lines = [f"{things[0]}:", f"  state: {quality}", "  tasks:"]
            lines += [f"    - {action}: {thing}" for action, thing in zip(actions, things[1:], strict=True)]
        else:
            lines = [
                f"SELECT {things[0]}, {things[1]}",
                f"FROM {things[2]}_log",
                f"WHERE state = '{quality}' AND next_task = '{actions[0]}'",
                f"ORDER BY {things[3]};",
            ]
        said = self._fill("To keep track of the {a}, something as small as this is enough:")
        return "\n".join([said, "", f"```{shape}", *lines, "```"])

    def _table(self, _: Mapping[str, _Draw]) -> str:
        rng = self._rng
        things = rng.sample(list(self._topic.things), 4)
        actions = rng.sample(list(self._topic.actions), 4)
        times = rng.sample(_ROW_WORDS, 4)
        rows = [f"| {thing} | {action} | {time} |" for thing, action, time in zip(things, actions, times, strict=True)]
        return "\n".join(["| Part | What to do | When |", "|---|---|---|", *rows])


@dataclass(slots=True)
class _Stated:
    """A fact that a user's message stated, and where."""

    fact: _Fact
    value: str
    evidence: list[str]


class _LongAnswers:
    """One conversation with an assistant, session by session: 14 topics, then six of them again with a changed fact."""

    def __init__(self, rng: random.Random, seed: int) -> None:
        self._rng = rng
        self._seed = seed
        self._clock = _Clock(rng)
        self._requests, self._updates = _Draw(rng, _REQUESTS), _Draw(rng, _UPDATES)
        self._messages: list[Message] = []
        self._stated: dict[str, list[_Stated]] = {}
        self._said: list[Question] = []

    def make(self) -> MadeConversation:
        rng = self._rng
        topics = rng.sample(_topics(), _NEW_SESSIONS)
        again = rng.sample(topics, _LONG_SESSIONS - _NEW_SESSIONS)
        shuffled = {topic.name: rng.sample(list(topic.facts), len(topic.facts)) for topic in topics}
        advised = {topic.name: rng.sample(list(topic.advice), len(topic.advice)) for topic in topics}
        for number, topic in enumerate([*topics, *again], 1):
            self._clock.next_session()
            advising, changing = rng.randrange(_LONG_TURNS), rng.randrange(_LONG_TURNS)
            for turn, goal in enumerate(rng.sample(list(topic.goals), _LONG_TURNS)):
                stated = None
                if number <= _NEW_SESSIONS:
                    fact = shuffled[topic.name][turn]
                    stated = _Stated(fact, rng.choice(fact.values), [])
                    self._stated.setdefault(topic.name, []).append(stated)
                elif turn == changing:
                    stated = self._changed(topic)
                self._turn(number, turn, topic, goal, stated, advised[topic.name].pop() if turn == advising else None)
        return {
            "id": f"long-answers-{self._seed}",
            "kind": LONG_ANSWERS,
            "messages": self._messages,
            "questions": self._questions({topic.name: shuffled[topic.name][_LONG_TURNS:] for topic in topics}),
        }

    def _changed(self, topic: _Topic) -> _Stated:
        """A fact of the topic with another value."""
        stated = self._rng.choice(self._stated[topic.name])
        stated.value = self._rng.choice([value for value in stated.fact.values if value != stated.value])
        return stated

    def _turn(
        self,
        session: int,
        turn: int,
        topic: _Topic,
        goal: str,
        stated: _Stated | None,
        advice: tuple[str, str] | None,
    ) -> None:
        message = self._add(session, turn * 2 + 1, "user", self._request(topic, goal, stated))
        if stated is not None:
            stated.evidence.append(message)
        answer = _Answerer(self._rng, topic).answer(advice[1] if advice else None)
        answered = self._add(session, turn * 2 + 2, "assistant", answer)
        if advice:
            self._said.append({"question": advice[0], "category": "you-said", "evidence": [answered]})

    def _request(self, topic: _Topic, goal: str, stated: _Stated | None) -> str:
        if stated is None:
            thing = self._rng.choice(topic.things)
            return self._rng.choice(
                (
                    f"One more about {topic.name}: is there a better way to {goal}, now that the {thing} is done?",
                    f"Back to {topic.name}. I still can't {goal}, and the {thing} is driving me mad. Any ideas?",
                    f"Would you go through it with me once more? I'd like to {goal} and begin with the {thing}.",
                )
            )
        draw = self._updates if stated.evidence else self._requests
        fact = stated.fact.clause.format(stated.value)
        for _ in range(len(_REQUESTS)):
            request = draw().format(goal=goal, fact=fact, Fact=_sentence(fact), topic=topic.name)
            if REQUEST_CHARS[0] <= len(request) <= REQUEST_CHARS[1]:
                break
        return request

    def _add(self, session: int, number: int, role: str, content: str) -> str:
        id_ = f"s{session}-{number:02d}"
        timestamp = self._clock.next_message()
        self._messages.append(
            {"id": id_, "session": f"s{session}", "role": role, "content": content, "timestamp": timestamp}
        )
        return id_

    def _questions(self, untold: Mapping[str, Sequence[_Fact]]) -> list[Question]:
        rng = self._rng
        stated = [each for facts in self._stated.values() for each in facts]
        facts = [each for each in stated if len(each.evidence) == 1]
        absent = [fact.question for facts in untold.values() for fact in facts]
        asked: list[Question] = [
            {"question": each.fact.question, "category": "fact", "evidence": each.evidence}
            for each in rng.sample(facts, min(22, len(facts)))
        ]
        asked += rng.sample(self._said, min(12, len(self._said)))
        asked += [
            {"question": each.fact.question, "category": "update", "evidence": each.evidence}
            for each in stated
            if len(each.evidence) > 1
        ]
        asked += [
            {"question": question, "category": "abstention", "evidence": []}
            for question in rng.sample(absent, _LONG_ABSTENTIONS)
        ]
        return asked


def _long_answers(rng: random.Random, seed: int) -> MadeConversation:
    return _LongAnswers(rng, seed).make()


# --- Two people -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pair:
    """A question of the chat and its answer: {} takes one of `values`; `later` is asked of the memory about {who}."""

    category: str
    asked: str
    answered: Sequence[str]
    later: str
    values: Sequence[str]


_NAMES = (
    ("Agnes", "Bruno"), ("Cleo", "Daniel"), ("Edith", "Farid"), ("Greta", "Hamid"), ("Ingrid", "Jonas"),
    ("Keiko", "Liam"), ("Maren", "Nikhil"), ("Oona", "Pavel"), ("Rosalind", "Samir"), ("Tamsin", "Ugo"),
)  # fmt: skip

# category | what the other one asks | answers, with a place for a value | what is asked later | values
_PAIRS_TEXT = """
fact | What did you call the puppy in the end? | {}, because of the ears./We settled on {}. | What is the name of
  {who}'s dog? | Waffle; Major; Pepper; Tango; Nettle
fact | And where are you off to this summer? | {}, with the tent./It'll be {} again, the children insist. | Where does
  {who} spend the summer holiday? | Skerry Island; the Tarn valley; Lake Ombra; the coast near Pell
fact | What are you reading at the moment? | Something about {}, it's better than it sounds./A fat book on {}. | What
  is the subject of the book that {who} is reading? | lighthouse keepers; the history of salt; deep-sea cables; a
  plague of hats
fact | What is it that your sister does again? | She repairs {}./{}, would you believe it. She mends them. | What does
  the sister of {who} do for a living? | church organs; cuckoo clocks; fishing nets; hot-air balloons
fact | Which instrument did you say you gave up? | The {}, to everybody's relief./{}. My brother still talks about the
  noise. | Which instrument did {who} once play? | oboe; trombone; bagpipes; viola; accordion
fact | What did the doctor say? | Only {}, nothing worse./It's {}. Two weeks of rest. | What is wrong with {who}'s
  health? | a pinched nerve; low iron; a cracked rib; too little sleep
fact | How many of you were at dinner? | {}, and one chair short./We were {}, if you count the baby. | How many people
  were at {who}'s dinner? | nine; eleven; thirteen; seventeen
fact | What colour is the door now? | {}. The neighbours are speechless./{}, after three test pots. | How did {who}
  paint the door? | mustard yellow; plum; petrol blue; coral
fact | What can't he eat, your nephew? | {}, not even a trace./Anything with {} in it. | What must the nephew of {who}
  not eat? | sesame; celery; lupin; mustard; egg white
fact | Who was that on the phone? | {}, from the allotment office./Just {} about the boat. | Who rang {who}? | Mr
  Halloran; Mrs Petrescu; old Mr Binh; Miss Undset
fact | What did you get for the car? | {}, and he took the roof box too./In the end {}. | How much did {who} get for
  the car? | 1,850; 2,400; 3,150; 900
fact | What are you baking for the fair? | {}, four trays of them./{}, same as ever. | What does {who} bake for the
  fair? | rhubarb slices; ginger stars; poppy-seed rolls; plum tarts
fact | So which course did you choose? | {}, on Wednesday nights./{}. Don't laugh. | Which evening class has {who}
  chosen? | upholstery; glass blowing; Morse code; bookbinding
fact | What did they give you for your birthday? | {}, and it's enormous./Of all things, {}. | What present was {who}
  given? | a rain barrel; a telescope; a pasta machine; a sundial
fact | Which team does your dad follow? | {}, through every relegation./{}. Since before I was born. | Which club does
  {who}'s father support? | Port Olwen; Harrow Vale; Redmill Rovers; Saltmarsh
fact | What's the new boss like? | {}, but fair./{}. We shall see. | What is {who}'s new boss like? | very quiet;
  terribly loud; fond of lists; never on time
fact | What did you break this time? | The {}, right through./My aunt's {}. I could have wept. | What did {who} break?
  | soup tureen; hall mirror; coffee grinder; barometer
fact | Where did the cat turn up? | In {}, fast asleep./{}. Three days! | Where was {who}'s cat found? | the organ
  loft; a laundry basket next door; the cellar of the bakery; a delivery van
fact | How are you getting to the wedding? | By {}, it's nicer./{}, if the weather holds. | How does {who} travel to
  the wedding? | night train; ferry; tandem; post bus
fact | What do you put in the stew? | {}, half a spoon./A little {}, but don't tell anyone. | What is {who}'s secret
  ingredient? | smoked paprika; orange peel; black cardamom; anchovy paste
fact | Which floor is the new flat on? | The {}, and no lift./{}. My knees are counting. | On which floor is {who}'s
  new flat? | fourth; fifth; sixth; attic
fact | Whose is the boat, then? | It belongs to {}./{}'s, I only scrub it. | Who owns the boat that {who} uses? | my
  godmother; the harbour master; a retired vet; my old landlord
fact | What would you do with the money? | Fix {} first./{}. No question. | What would {who} spend the money on? | the
  chimney; my teeth; the greenhouse roof; the harmonium
fact | What's your part in the play? | I'm {}, two lines and a scream./{}. I die early. | Which role does {who} have
  in the play? | the miller; the second witch; a postman; the mayor's aunt
fact | Who do I ask for at the film club? | Ask for {} at the side door./{} lets people in. | Whom must one ask for at
  {who}'s film club? | Leopold; Marisol; Big Anneke; Quentin
fact | What did you plant by the wall? | {}, three of them./{}. It'll need a fence. | What has {who} planted by the
  wall? | quince; hazel; a fig; climbing roses
fact | Why did you leave the party early? | {}, as usual./{}. I felt awful. | Why did {who} go home early? | the last
  tram; a migraine; the babysitter rang; a nosebleed
fact | Which size do you take in boots? | {}, better too big./{}, thanks. | Which size does {who} wear? |
  thirty-eight; forty-one; forty-three; forty-five
fact | What was in the parcel? | {}. Not mine at all./{}, wrapped in a jumper. | What was in the parcel that {who}
  got? | a music box; twelve candles; somebody's passport; tulip bulbs
fact | And your favourite picture of the lot? | The one with {}./{}, by a mile. | Which picture did {who} like best? |
  the drowned piano; the three herons; the empty tram; the red umbrella
temporal | How long have you two been married now? | {} in autumn./{}, and not a quiet one among them. | How long has
  {who} been married? | six years; eleven years; nineteen years; twenty-four years
temporal | When does it start, the new job? | On {}, bright and early./{}. I've bought a bag for it. | When does {who}
  begin the new job? | the third of March; the second of June; the first of April; the ninth of May
temporal | And when did the roof go? | {}, in that storm./{}. We heard it fall. | When was {who}'s roof damaged? |
  last Sunday night; the night before last; two weeks ago; on New Year's morning
temporal | How long were you up in the mountains? | {}, without a signal./{}. I'd have stayed for more. | How long was
  {who} in the mountains? | nine days; four nights; three weeks; a fortnight
temporal | When is your daughter due back from sea? | {}, if the wind is kind./Not before {}. | When does
  {who}'s daughter come back from sea? | Whitsun; mid-July; the end of May; Thursday week
temporal | Since when do you swim in winter? | {}, after the operation./{}. It began as a bet. | Since when has {who}
  gone swimming in the cold? | four winters ago; last December; 2019; my fiftieth birthday
temporal | How late did it get after the concert? | {}, and I still did the dishes./{}. Never again. | How late did
  {who} stay up? | half past two; quarter to four; until the birds sang; just after one
temporal | What time shall I pick you up? | {}, not a minute sooner./{}, by the church. | At what time did {who} want
  to be picked up? | ten to six; quarter past seven; twenty to nine; half past five
temporal | When did you last see your cousin? | {}, at the station./{}. He'd grown a moustache. | When did {who} last
  see the cousin? | eight years ago; the Easter before last; in November; on my birthday
temporal | How long does the cure take? | {}, with no sugar./{}. I've done a third. | How long does {who}'s cure last?
  | six weeks; ten days; two months; twenty-one days
temporal | When do the builders come back? | {}, they swear./{}. I'll believe it then. | When do the builders return
  to {who}'s house? | on the twelfth; after the holidays; Monday at seven; in a fortnight
temporal | Which day is the hearing? | {}, in the small room./{}. Wish me luck. | On which day is {who}'s hearing? |
  Friday the thirteenth; the twenty-eighth; Wednesday of next week; the last day of the month
temporal | How long did the tooth take? | {}, with two breaks./{}. I counted the lamps. | How long was {who} at the
  dentist's? | fifty minutes; an hour and a half; two hours; half the morning
temporal | When did you move here, actually? | {}, in the snow./{}. There were still trams. | When did {who} move to
  this town? | in 1998; in 2004; the winter of 2011; seventeen years ago
"""

_HELLOS = (
    "Hi {other}, are you there?", "Morning, {other}!", "{other}, quick question.", "Evening! How was the day?",
    "Hello stranger.", "Still awake, {other}?", "You won't believe what happened on the stairs.",
    "I've been meaning to write since breakfast.", "Hey {other}, have you got five minutes?", "Is it raining at yours?",
    "{other}! Finally a quiet moment.", "Are you back?", "I'm on the bus, so forgive the typing.", "There you are.",
)  # fmt: skip
_REPLIES = (
    "Here, with tea.", "Hi {other}, go on.", "For you always.", "Just about.", "I'm all ears, {other}.",
    "Depends what it is!", "Yes, but the soup is on.", "Hello you.", "What's up?", "Ha, {other}, same here.",
    "Only if it's nothing to do with spreadsheets.", "I was just thinking of you.", "Barely. Go ahead.",
)  # fmt: skip
_REACTIONS = (
    "No way.", "I envy you.", "That sounds about right.", "Oh dear.", "Lovely!", "You're joking, {other}.",
    "I'd have guessed something else.", "Good for you.", "That's so like you.", "Tell me everything on Sunday.",
    "My mother would have fainted.", "I'll write that down, you know my head.", "Well, it could be worse.",
    "Honestly, {other}, I'm impressed.", "Ah, I remember you saying you might.", "And nobody complained?",
    "That made me laugh out loud on the tram.", "I need a photo of that.", "Brave.", "Then I owe you a coffee.",
)  # fmt: skip
_ABOUT = (
    "the neighbour's dog", "the new bakery", "the play at the school", "our old flat", "that boat in the harbour",
    "the allotment", "my cousin's wedding", "the night train", "the film club", "the evening class", "the car",
    "the builders opposite", "the choir", "your telescope idea", "the fair", "the swimming pool", "my boss",
    "the dentist's waiting room", "the cat from number nine", "the mountain hut", "the parcel office", "the roof",
)  # fmt: skip
_REMARKS = (
    "I keep thinking about {about}, no idea why.", "Somebody told me a story about {about} and I forgot half of it.",
    "Don't get me started on {about}.", "I walked past and there was a whole crowd because of {about}.",
    "We talked about {about} at lunch, you'd have hated it.", "I dreamt of {about} again.",
    "There's a letter in the paper about {about}, four paragraphs, very angry.",
    "My aunt rang for an hour, mostly about {about}.", "If I hear one more word about {about}, I'll emigrate.",
    "You were right about {about}, by the way.", "I nearly sent you a picture of {about}.",
    "They're collecting signatures, something to do with {about}.", "I had to explain {about} to my grandmother.",
)  # fmt: skip
_GOODBYES = (
    "Right, the potatoes are boiling over.", "Have to run, {other}.", "Sleep well!", "Bye for now.",
    "The doorbell. Talk soon!", "Kiss the little ones from me.", "I'm falling asleep, {other}.", "Until Sunday, then.",
    "My stop, bye!", "Off to walk it all off.", "Write to me when you know more.", "Take care, {other}.",
)  # fmt: skip
_TWO_SESSIONS = 25
_PAIRS_A_SESSION = 3
_TWO_ABSTENTIONS = 7


def _pairs() -> list[_Pair]:
    found = []
    for line in _unwrapped(_PAIRS_TEXT).splitlines():
        category, asked, answered, later, values = line.split(" | ")
        found.append(_Pair(category, asked, answered.split("/"), later, values.split("; ")))
    return found


def _two_people(rng: random.Random, seed: int) -> MadeConversation:
    """Both ask, and the turn after a question answers it; nobody is asked the same thing twice."""
    names = rng.choice(_NAMES)
    open_pairs = [(pair, name) for pair in _pairs() for name in names]
    rng.shuffle(open_pairs)
    hellos, replies, reactions = _Draw(rng, _HELLOS), _Draw(rng, _REPLIES), _Draw(rng, _REACTIONS)
    goodbyes = _Draw(rng, _GOODBYES)
    remarks = _Draw(rng, [remark.format(about=about) for remark in _REMARKS for about in _ABOUT])
    clock = _Clock(rng)
    messages: list[Message] = []
    told: list[Question] = []

    def filler(before: tuple[str, str, Question | None]) -> str:
        """Something to say after this turn; only an answer is reacted to."""
        return remarks() if before[2] is None else rng.choice((reactions, remarks))()

    for session in range(1, _TWO_SESSIONS + 1):
        clock.next_session()
        pairs, open_pairs = open_pairs[:_PAIRS_A_SESSION], open_pairs[_PAIRS_A_SESSION:]
        # A turn is the speaker, the text, and the question that it answers.
        first = rng.choice(names)
        second = names[1 - names.index(first)]
        turns: list[tuple[str, str, Question | None]] = [(first, hellos(), None), (second, replies(), None)]
        for pair, who in pairs:
            asker = names[1 - names.index(who)]
            value = rng.choice(pair.values)
            said = _sentence(rng.choice(pair.answered).format(value))
            question: Question = {"question": pair.later.format(who=who), "category": pair.category, "evidence": []}
            if turns[-1][0] == asker:
                turns.append((who, filler(turns[-1]), None))
            turns += [(asker, pair.asked, None), (who, said, question)]
        while len(turns) < 11:
            turns.append((names[1 - names.index(turns[-1][0])], filler(turns[-1]), None))
        turns.append((names[1 - names.index(turns[-1][0])], goodbyes(), None))
        for number, (who, text, answered) in enumerate(turns, 1):
            id_ = f"s{session}-{number:02d}"
            content = text.replace("{other}", names[1 - names.index(who)])
            message: Message = {
                "id": id_,
                "session": f"s{session}",
                "role": "user",
                "sender_name": who,
                "content": content,
                "timestamp": clock.next_message(),
            }
            messages.append(message)
            if answered is not None:
                answered["evidence"].append(id_)
                told.append(answered)
    asked = [
        *rng.sample([each for each in told if each["category"] == "fact"], 28),
        *rng.sample([each for each in told if each["category"] == "temporal"], 12),
    ]
    for pair, who in rng.sample(open_pairs, _TWO_ABSTENTIONS):
        asked.append({"question": pair.later.format(who=who), "category": "abstention", "evidence": []})
    return {"id": f"two-people-{seed}", "kind": TWO_PEOPLE, "messages": messages, "questions": asked}
