"""Two people who chat: both ask, and the turn after a question answers it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from made.drawing import Clock, Draw, capitalized, unwrapped
from made.files import MadeConversation, Message, Question

KIND = "two people"


@dataclass(frozen=True, slots=True)
class _Pair:
    """A question of the chat and its answer: {} takes one of `values`; `later` is asked of the memory about {who}."""

    category: str
    asked: str
    answered: Sequence[str]
    later: str
    values: Sequence[str]


_NAMES = (
    ("Agnes", "Bruno"),
    ("Cleo", "Daniel"),
    ("Edith", "Farid"),
    ("Greta", "Hamid"),
    ("Ingrid", "Jonas"),
    ("Keiko", "Liam"),
    ("Maren", "Nikhil"),
    ("Oona", "Pavel"),
    ("Rosalind", "Samir"),
    ("Tamsin", "Ugo"),
)

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
    "Hi {other}, are you there?",
    "Morning, {other}!",
    "{other}, quick question.",
    "Evening! How was the day?",
    "Hello stranger.",
    "Still awake, {other}?",
    "You won't believe what happened on the stairs.",
    "I've been meaning to write since breakfast.",
    "Hey {other}, have you got five minutes?",
    "Is it raining at yours?",
    "{other}! Finally a quiet moment.",
    "Are you back?",
    "I'm on the bus, so forgive the typing.",
    "There you are.",
)
_REPLIES = (
    "Here, with tea.",
    "Hi {other}, go on.",
    "For you always.",
    "Just about.",
    "I'm all ears, {other}.",
    "Depends what it is!",
    "Yes, but the soup is on.",
    "Hello you.",
    "What's up?",
    "Ha, {other}, same here.",
    "Only if it's nothing to do with spreadsheets.",
    "I was just thinking of you.",
    "Barely. Go ahead.",
)
_REACTIONS = (
    "No way.",
    "I envy you.",
    "That sounds about right.",
    "Oh dear.",
    "Lovely!",
    "You're joking, {other}.",
    "I'd have guessed something else.",
    "Good for you.",
    "That's so like you.",
    "Tell me everything on Sunday.",
    "My mother would have fainted.",
    "I'll write that down, you know my head.",
    "Well, it could be worse.",
    "Honestly, {other}, I'm impressed.",
    "Ah, I remember you saying you might.",
    "And nobody complained?",
    "That made me laugh out loud on the tram.",
    "I need a photo of that.",
    "Brave.",
    "Then I owe you a coffee.",
)
_ABOUT = (
    "the neighbour's dog",
    "the new bakery",
    "the play at the school",
    "our old flat",
    "that boat in the harbour",
    "the allotment",
    "my cousin's wedding",
    "the night train",
    "the film club",
    "the evening class",
    "the car",
    "the builders opposite",
    "the choir",
    "your telescope idea",
    "the fair",
    "the swimming pool",
    "my boss",
    "the dentist's waiting room",
    "the cat from number nine",
    "the mountain hut",
    "the parcel office",
    "the roof",
)
_REMARKS = (
    "I keep thinking about {about}, no idea why.",
    "Somebody told me a story about {about} and I forgot half of it.",
    "Don't get me started on {about}.",
    "I walked past and there was a whole crowd because of {about}.",
    "We talked about {about} at lunch, you'd have hated it.",
    "I dreamt of {about} again.",
    "There's a letter in the paper about {about}, four paragraphs, very angry.",
    "My aunt rang for an hour, mostly about {about}.",
    "If I hear one more word about {about}, I'll emigrate.",
    "You were right about {about}, by the way.",
    "I nearly sent you a picture of {about}.",
    "They're collecting signatures, something to do with {about}.",
    "I had to explain {about} to my grandmother.",
)
_GOODBYES = (
    "Right, the potatoes are boiling over.",
    "Have to run, {other}.",
    "Sleep well!",
    "Bye for now.",
    "The doorbell. Talk soon!",
    "Kiss the little ones from me.",
    "I'm falling asleep, {other}.",
    "Until Sunday, then.",
    "My stop, bye!",
    "Off to walk it all off.",
    "Write to me when you know more.",
    "Take care, {other}.",
)
_SESSIONS = 25
_TURNS = 12  # of a session
_PAIRS_A_SESSION = 3
_ASKED = {"fact": 28, "temporal": 12}
_ABSTENTIONS = 7


def _pairs() -> list[_Pair]:
    found = []
    for line in unwrapped(_PAIRS_TEXT).splitlines():
        category, asked, answered, later, values = line.split(" | ")
        found.append(_Pair(category, asked, answered.split("/"), later, values.split("; ")))
    return found


@dataclass(frozen=True, slots=True)
class _Turn:
    """What one says, and the question that it answers."""

    who: str
    text: str
    answered: Question | None = None


class _Chat:
    """One conversation, session by session; nobody is asked the same thing twice."""

    def __init__(self, rng: random.Random, seed: int) -> None:
        self._rng = rng
        self._seed = seed
        self._names = rng.choice(_NAMES)
        self._open = [(pair, name) for pair in _pairs() for name in self._names]
        rng.shuffle(self._open)
        self._hellos, self._replies, self._reactions = Draw(rng, _HELLOS), Draw(rng, _REPLIES), Draw(rng, _REACTIONS)
        self._goodbyes = Draw(rng, _GOODBYES)
        self._remarks = Draw(rng, [remark.format(about=about) for remark in _REMARKS for about in _ABOUT])
        self._clock = Clock(rng)
        self._messages: list[Message] = []
        self._told: list[Question] = []

    def make(self) -> MadeConversation:
        for session in range(1, _SESSIONS + 1):
            self._clock.next_session()
            pairs, self._open = self._open[:_PAIRS_A_SESSION], self._open[_PAIRS_A_SESSION:]
            for number, turn in enumerate(self._turns(pairs), 1):
                self._add(session, number, turn)
        return {
            "id": f"two-people-{self._seed}",
            "kind": KIND,
            "messages": self._messages,
            "questions": self._questions(),
        }

    def _turns(self, pairs: Sequence[tuple[_Pair, str]]) -> list[_Turn]:
        """A session: greetings, these pairs with fillers between them, and a goodbye."""
        rng = self._rng
        first = rng.choice(self._names)
        turns = [_Turn(first, self._hellos()), _Turn(self._other(first), self._replies())]
        for pair, who in pairs:
            asker = self._other(who)
            value = rng.choice(pair.values)
            said = capitalized(rng.choice(pair.answered).format(value))
            question: Question = {"question": pair.later.format(who=who), "category": pair.category, "evidence": []}
            if turns[-1].who == asker:
                turns.append(_Turn(who, self._filler(turns[-1])))
            turns += [_Turn(asker, pair.asked), _Turn(who, said, question)]
        while len(turns) < _TURNS - 1:
            turns.append(_Turn(self._other(turns[-1].who), self._filler(turns[-1])))
        turns.append(_Turn(self._other(turns[-1].who), self._goodbyes()))
        return turns

    def _filler(self, before: _Turn) -> str:
        """Something to say after this turn; only an answer gets a reaction."""
        return self._remarks() if before.answered is None else self._rng.choice((self._reactions, self._remarks))()

    def _other(self, who: str) -> str:
        return self._names[1 - self._names.index(who)]

    def _add(self, session: int, number: int, turn: _Turn) -> None:
        id_ = f"s{session}-{number:02d}"
        self._messages.append(
            {
                "id": id_,
                "session": f"s{session}",
                "role": "user",
                "sender_name": turn.who,
                "content": turn.text.replace("{other}", self._other(turn.who)),
                "timestamp": self._clock.next_message(),
            }
        )
        if turn.answered is not None:
            turn.answered["evidence"].append(id_)
            self._told.append(turn.answered)

    def _questions(self) -> list[Question]:
        rng = self._rng
        asked = [
            each
            for category, count in _ASKED.items()
            for each in rng.sample([told for told in self._told if told["category"] == category], count)
        ]
        for pair, who in rng.sample(self._open, _ABSTENTIONS):
            asked.append({"question": pair.later.format(who=who), "category": "abstention", "evidence": []})
        return asked


def two_people(rng: random.Random, seed: int) -> MadeConversation:
    return _Chat(rng, seed).make()
