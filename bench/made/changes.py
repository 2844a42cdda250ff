"""Pairs of messages of one user, by hand: the later one says that something changed, or only seems to.

In half of the pairs it did change. The others are traps: about another thing or another person, supposed, asked,
quoted, denied or planned. Sixty pairs were at hand when the rules were written, 64 were written afterwards. Each is a
conversation of its own, between turns about other things, which also have numbers, names and words such as "now".
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

CATEGORY = "update"
START = datetime(2026, 3, 2, 9, tzinfo=UTC)


class Pair(NamedTuple):
    """`changed`: the later message supersedes the earlier one. `kind`: what it is about, or why it is a trap."""

    kind: str
    question: str
    earlier: str
    later: str
    changed: bool


_CHANGES = """
place | Where does my boat lie? | My boat lies at berth 12. | I sold the boat's old mooring and moved her to berth 31 yesterday.
place | Where do I live? | I live in Leipzig, near the botanical garden. | We moved to Dresden last weekend.
place | Where is the spare key? | The spare key is under the blue flower pot. | The spare key now hangs in the garage behind the bikes.
place | Which office are we in? | Our office is on the third floor of the Karlsbau. | Our team switched to an office in the Nordhof building.
place | Where is my car parked? | My car is parked on level 2 of the station garage. | I parked the car again, it's on level 5 now.
number | What is the wifi password of the cabin? | The wifi password of the cabin is heron42. | The cabin's wifi password has changed, it's osprey77 now.
number | What is Mia's phone number? | Mia's phone number is 555 0134. | Mia has a new phone number: 555 0199.
number | How many people come to the workshop? | 14 people have signed up for the workshop. | Three more joined the workshop, so we're 17 people now.
number | Which version of the runtime do we deploy? | We deploy on runtime version 3.9. | We upgraded the runtime, production runs version 3.12 since Tuesday.
name | Who is my dentist? | My dentist is Dr. Albers. | I changed dentists, I go to Dr. Keller instead.
name | Who leads the billing project? | Priya leads the billing project. | Tomas took over the billing project from Priya.
name | What is our cat called? | our cat is called Mino | We renamed the cat, she's called Luna now.
name | Which bank do I use? | I have my account with Nordbank. | I closed my Nordbank account and switched to Sparhaus.
time | When is the team meeting? | The team meeting is on Mondays at 9:30. | The team meeting has been moved to Tuesdays at 11:00.
time | When does the ferry leave? | The ferry leaves at 7:40. | New timetable: the ferry leaves at 8:05.
time | When is the wedding? | The wedding is on June 14. | The wedding was postponed, it will be on September 6.
time | What time is my yoga class? | My yoga class starts at 6 pm. | Yoga class starts at 7 pm now.
preference | What do I like to drink in the morning? | I drink black coffee in the morning. | I no longer drink coffee, I have green tea in the morning.
preference | Which editor do I use? | I use Vim for everything. | I've switched to Helix, it's my editor for everything now.
preference | What is my favourite colour? | My favourite colour is blue. | My favourite colour is green these days, not blue any more.
preference | Do I eat meat? | I eat meat twice a week. | I've become a vegetarian, I don't eat meat any more.
job | Where do I work? | I work at Brightline as an analyst. | I started a new job at Corvus last month.
job | What is my job title? | I'm a junior designer at the agency. | I got promoted, I'm a senior designer at the agency now.
job | Where does my sister work? | My sister works for the city library. | My sister left the library and works at the university now.
job | What does Ben study? | Ben studies physics in Mainz. | Ben changed his subject, he studies medicine instead.
amount | What is our rent? | Our rent is 850 euros a month. | The rent went up to 920 euros a month.
amount | What is the budget for the kitchen? | The budget for the kitchen is 12,000 euros. | We raised the kitchen budget to 15,000 euros.
amount | How much do I weigh? | I weigh 82 kilos. | I weigh 78 kilos now.
amount | How much does the gym membership cost? | My gym membership costs $35 a month. | The gym membership costs $42 a month from now on.
amount | How much sugar goes into the jam? | The jam recipe takes 500 grams of sugar. | I changed the jam recipe, it takes 350 grams of sugar now.
"""  # noqa: E501 - a row is a pair
_TRAPS = """
another thing | Where does my boat Aurora lie? | My boat Aurora lies at berth 12. | I moved my other boat, the Petrel, to berth 31.
another thing | What is the rent of the flat? | The rent of the flat is 850 euros a month. | The rent of the garage went up to 95 euros a month.
another thing | When does the ferry to Juist leave? | The ferry to Juist leaves at 7:40. | The ferry to Borkum leaves at 8:05 now.
another thing | Who leads the billing project? | Priya leads the billing project. | Tomas took over the search project from Ines.
another thing | Where is my bike? | My bike stands in the cellar. | I moved the kids' bikes to the garage.
another thing | What is the wifi password at the cabin? | The wifi password at the cabin is heron42. | The office has a new wifi password, it's osprey77 now.
another person | Where do I work? | I work at Brightline as an analyst. | My brother switched jobs, he works at Corvus now.
another person | What is Mia's phone number? | Mia's phone number is 555 0134. | Jonas has a new phone number: 555 0199.
another person | Where do I live? | I live in Leipzig, near the botanical garden. | My parents moved to Dresden last weekend.
another person | Who is my dentist? | My dentist is Dr. Albers. | Anna changed dentists, she goes to Dr. Keller now.
another person | What do I like to drink in the morning? | I drink black coffee in the morning. | My wife no longer drinks coffee, she has green tea in the morning.
supposed | Where does my boat lie? | My boat lies at berth 12. | If I moved the boat to berth 31, the fees would be lower.
supposed | What is our rent? | Our rent is 850 euros a month. | If the rent went up to 920 euros a month, we would look for another flat.
supposed | Where do I live? | I live in Leipzig, near the botanical garden. | I'd move to Dresden now if I found a job there.
supposed | How many people come to the workshop? | 14 people have signed up for the workshop. | Suppose three more joined the workshop, we'd be 17 people.
asked | Where does my boat lie? | My boat lies at berth 12. | Should I move the boat to berth 31 instead?
asked | When is the team meeting? | The team meeting is on Mondays at 9:30. | Has the team meeting been moved to Tuesdays at 11:00?
asked | Who is my dentist? | My dentist is Dr. Albers. | Would you switch from Dr. Albers to Dr. Keller?
asked | How much does the gym membership cost? | My gym membership costs $35 a month. | Does the gym membership cost $42 a month now?
quoted | When does the ferry leave? | The ferry leaves at 7:40. | The captain in the novel says "the ferry leaves at 8:05 now".
quoted | Where does my boat lie? | My boat lies at berth 12. | My neighbour wrote: "I moved my boat to berth 31."
quoted | What is my favourite colour? | My favourite colour is blue. | In the song she sings "my favourite colour is green now".
denied | Where does my boat lie? | My boat lies at berth 12. | I did not move the boat to berth 31.
denied | What is our rent? | Our rent is 850 euros a month. | The rent has not been raised to 920 euros after all.
denied | Where do I work? | I work at Brightline as an analyst. | I didn't switch to Corvus after all, I stay where I am.
denied | When is the wedding? | The wedding is on June 14. | The wedding wasn't postponed to September 6.
planned | Where does my boat lie? | My boat lies at berth 12. | I want to move the boat to berth 31 next spring.
planned | When is the team meeting? | The team meeting is on Mondays at 9:30. | We are thinking of moving the team meeting to Tuesdays at 11:00.
planned | Where do I live? | I live in Leipzig, near the botanical garden. | We may move to Dresden next year.
planned | Which editor do I use? | I use Vim for everything. | I plan to switch from Vim to Helix some day.
"""  # noqa: E501 - a row is a pair

_UNSEEN_CHANGES = """
place | Where do we store the winter tyres? | The winter tyres are stored at Hellmann's workshop. | We've moved the winter tyres to my uncle's barn.
place | Where is the backup kept? | The backup is kept on the NAS in the office. | We switched the backup over to a cloud bucket in Frankfurt.
place | Which school does Lena go to? | Lena goes to the Montessori school. | Lena left the Montessori school, she goes to the Goethe school now.
place | Where do I live? | I'm living in Porto at the moment. | I relocated to Lisbon in May.
number | What is the door code? | The door code is 4471. | They changed the door code, it's 9023 now.
number | How many chickens do we have? | We have 6 chickens. | The fox got two, we're down to 4 chickens.
number | How many credits do I need for the degree? | I need 180 credits for the degree. | Correction, I need 210 credits for the degree.
name | Who is our landlord? | Our landlord is Mr. Brandt. | The house was sold, our new landlord is Mrs. Yildiz.
name | Which phone provider do I have? | My phone provider is Telnova. | I cancelled Telnova and went over to Mobiko.
name | Who coaches the under-12 team? | Coach Petra trains the under-12 team. | Petra stopped, the under-12 team is trained by Arne now.
time | When is my dentist appointment? | My dentist appointment is on 3 May at 10:15. | The dentist rescheduled my appointment to 9 May at 14:00.
time | When does the shop close? | The shop closes at 18:00. | The shop has longer hours, it closes at 20:00 now.
time | When is the thesis due? | The thesis is due on October 1. | I got an extension, the thesis is due on November 15.
preference | What music do I work to? | I listen to jazz when I work. | I stopped listening to jazz when I work, it's ambient music now.
preference | Which language should answers be in? | Please answer me in English. | From now on answer me in Dutch instead.
preference | Do I take sugar in my tea? | I take two sugars in my tea. | I don't take sugar in my tea any more.
job | What does my wife do? | My wife is a nurse at the clinic. | My wife quit nursing, she runs a bakery now.
job | Where do I work? | I work for a small publisher in Bern. | I was hired by Swissrail and start on Monday.
amount | How much do we pay for internet? | We pay 39 euros for internet. | Our internet got more expensive, we pay 45 euros for it now.
amount | How far do I run? | I run 5 km on weekends. | I've worked up to 8 km on my weekend runs.
place | Where do I keep the passport? | My passport is in the desk drawer. | I put the passport into the bank safe, it's no longer in the desk.
place | Where does the book club meet? | The book club meets at Café Rosa. | The book club has moved to the community hall.
number | How many pages does the report have? | The report has 48 pages. | We cut the report, it has 36 pages now.
number | What is the port of the staging server? | The staging server runs on port 8080. | The staging server now listens on port 9443.
name | Who is my doctor? | My doctor is Dr. Lang. | Dr. Lang retired, my doctor is Dr. Osei now.
name | Which car do we drive? | We drive a Fiat Panda. | We traded in the Panda and drive a Skoda now.
time | When do the kids finish school? | The kids finish school at 13:30. | Since the new term the kids finish school at 15:00.
time | When is the release? | The release is planned for March 3. | The release slipped to March 17.
preference | How do I want my steak? | I like my steak medium. | I like my steak rare these days.
preference | Which newspaper do I read? | I read the Guardian every day. | I cancelled the Guardian, I read the Observer instead.
job | What do I do for a living? | I'm a taxi driver. | I gave up taxi driving, I'm training as a paramedic now.
amount | How much protein do I eat per day? | I eat 90 grams of protein per day. | I increased it to 120 grams of protein per day.
"""  # noqa: E501 - a row is a pair
_UNSEEN_TRAPS = """
another thing | What is the door code of the studio? | The door code of the studio is 4471. | They changed the door code of the warehouse, it's 9023 now.
another thing | When does the shop close? | The shop closes at 18:00. | The library closes at 20:00 now.
another thing | How much do we pay for internet? | We pay 39 euros for internet. | Our electricity got more expensive, we pay 45 euros for it now.
another thing | Where is the backup of the photos kept? | The backup of the photos is kept on the NAS. | We moved the backup of the invoices to a cloud bucket.
another thing | When is my dentist appointment? | My dentist appointment is on 3 May at 10:15. | The eye doctor moved my appointment to 9 May at 14:00.
another person | Which school does Lena go to? | Lena goes to the Montessori school. | Paul left the Montessori school, he goes to the Goethe school now.
another person | How far do I run? | I run 5 km on weekends. | My colleague has worked up to 8 km on his weekend runs.
another person | Do I take sugar in my tea? | I take two sugars in my tea. | My mother doesn't take sugar in her tea any more.
another person | What does my wife do? | My wife is a nurse at the clinic. | My sister quit nursing, she runs a bakery now.
supposed | Where do I live? | I'm living in Porto at the moment. | Imagine I moved to Lisbon now, how much would rent be?
supposed | When is the thesis due? | The thesis is due on October 1. | If I got an extension, the thesis would be due on November 15.
supposed | How many chickens do we have? | We have 6 chickens. | If the fox got two, we'd be down to 4 chickens.
asked | When does the shop close? | The shop closes at 18:00. | Is it true that the shop closes at 20:00 now?
asked | Who is our landlord? | Our landlord is Mr. Brandt. | Do you think our new landlord could be Mrs. Yildiz?
quoted | What music do I work to? | I listen to jazz when I work. | The article begins: "I stopped listening to jazz when I work."
quoted | Who coaches the under-12 team? | Coach Petra trains the under-12 team. | The newsletter said "the under-12 team is trained by Arne now", which is a mistake.
denied | Which phone provider do I have? | My phone provider is Telnova. | I haven't left Telnova for Mobiko, the offer was bad.
denied | How much do we pay for internet? | We pay 39 euros for internet. | Luckily they never raised our internet to 45 euros.
planned | Where do we store the winter tyres? | The winter tyres are stored at Hellmann's workshop. | Next year we'll move the winter tyres to my uncle's barn.
planned | What does my wife do? | My wife is a nurse at the clinic. | My wife dreams of quitting nursing and running a bakery.
another thing | Where does the book club meet? | The book club meets at Café Rosa. | The chess club has moved to the community hall.
another thing | How many pages does the annual report have? | The annual report has 48 pages. | We cut the quarterly report, it has 36 pages now.
another thing | What is the port of the staging server? | The staging server runs on port 8080. | The production server now listens on port 9443.
another person | Who is my doctor? | My doctor is Dr. Lang. | Felix changed doctors, he sees Dr. Osei now.
another person | Which newspaper do I read? | I read the Guardian every day. | My father reads the Observer now instead of the Guardian.
supposed | When is the release? | The release is planned for March 3. | If the tests fail, the release will slip to March 17.
supposed | Which car do we drive? | We drive a Fiat Panda. | What if we traded in the Panda and drove a Skoda now?
asked | How much protein do I eat per day? | I eat 90 grams of protein per day. | Would it be better if I increased it to 120 grams of protein per day?
asked | When do the kids finish school? | The kids finish school at 13:30. | Do the kids finish school at 15:00 now?
quoted | How do I want my steak? | I like my steak medium. | The cook told the guests: "I like my steak rare these days."
denied | Where do I keep the passport? | My passport is in the desk drawer. | I haven't moved the passport to the bank safe.
planned | What do I do for a living? | I'm a taxi driver. | I'd like to give up taxi driving and train as a paramedic.
"""  # noqa: E501 - a row is a pair

_BEFORE = (
    "I planted 20 tulips in the garden today.",
    "Remind me to buy new batteries for the torch.",
    "Ada's train to Bremen was an hour late again.",
)
_BETWEEN = (
    "I now read two chapters of the atlas each evening.",
    "Can you suggest a soup with leeks?",
    "The heating was repaired on Thursday for 140 euros.",
)
_AFTER = (
    "My nephew Theo turned 7 and got a kite instead of a drum.",
    "The library moved the crime novels to the second floor.",
    "Thanks for the soup, we made it with Paula on Sunday.",
)


def pairs() -> list[Pair]:
    """The changes, then the traps."""
    return [*_read(_CHANGES, changed=True), *_read(_TRAPS, changed=False)]


def unseen_pairs() -> list[Pair]:
    """The same, of those that were written after the rules."""
    return [*_read(_UNSEEN_CHANGES, changed=True), *_read(_UNSEEN_TRAPS, changed=False)]


def _read(table: str, *, changed: bool) -> Iterator[Pair]:
    for row in table.strip().splitlines():
        kind, question, earlier, later = (cell.strip() for cell in row.split(" | "))
        yield Pair(kind, question, earlier, later, changed)


def conversation(name: str, pair: Pair) -> dict[str, Any]:
    """A pair between other turns, in the form of a file's conversation. The messages `earlier` and `later` are the
    pair."""
    said = [*_session("a", _BEFORE, pair.earlier, "earlier"), *_session("b", _BETWEEN, pair.later, "later")]
    said += _session("c", _AFTER)
    for number, message in enumerate(said):
        message["timestamp"] = (START + timedelta(hours=12 * number)).isoformat()
    question = {"question": pair.question, "category": CATEGORY, "evidence": ["later"]}
    return {"id": name, "messages": said, "questions": [question]}


def _session(session: str, others: tuple[str, ...], text: str = "", id_: str = "") -> list[dict[str, Any]]:
    turns = [(f"{session}{number}", other) for number, other in enumerate(others)]
    turns += [(id_, text)] if text else []
    said: list[dict[str, Any]] = []
    for turn, content in turns:
        said.append({"id": turn, "session": session, "role": "user", "content": content})
        said.append({"id": f"{turn}-r", "session": session, "role": "assistant", "content": f"Noted: {content}"})
    return said
