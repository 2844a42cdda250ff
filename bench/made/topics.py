"""What long answers are about: for each topic its words, a user's facts and goals, an assistant's advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from made.drawing import unwrapped


@dataclass(frozen=True, slots=True)
class Fact:
    """What a user states in passing: `clause` has a place for one of `values`."""

    clause: str
    question: str
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    things: Sequence[str]
    actions: Sequence[str]
    qualities: Sequence[str]
    goals: Sequence[str]
    facts: Sequence[Fact]
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


def all_topics() -> list[Topic]:
    topics = []
    for block in unwrapped(_TOPICS_TEXT).split("\n\n"):
        lines = [line.partition(": ")[::2] for line in block.splitlines()]
        rows: dict[str, list[str]] = {key: [value for other, value in lines if other == key] for key, _ in lines}
        facts = [fact.split(" | ") for fact in rows["fact"]]
        topics.append(
            Topic(
                name=rows["topic"][0],
                things=rows["things"][0].split(", "),
                actions=rows["actions"][0].split(", "),
                qualities=rows["qualities"][0].split(", "),
                goals=rows["goal"],
                facts=[Fact(clause, question, values.split("; ")) for clause, question, values in facts],
                advice=[(question, said) for question, said in (advice.split(" | ") for advice in rows["advice"])],
            )
        )
    return topics
