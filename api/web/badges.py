"""What the page calls states: the one home of their words, tones and icons. A template writes `badge(...)`, with a
badge of `badges`, which every template has, or of its view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from memorybase.core.models import JobState
from memorybase.core.operations.problems import Problem, ProblemKind
from memorybase.core.operations.stack_parts import PartView
from memorybase.core.queries.coverage import SearchState
from memorybase.core.read_models.dead_letters import DeadLetterText
from memorybase.core.read_models.run_story import Verdict

ICONS = {
    "ok": "check",
    "working": "arc",
    "waiting": "clock",
    "failed": "exclamation",
    "off": "pause",
    "none": "circle",
    "pin": "",
}
# Problems that are no failures, and those of them that need nobody.
WAITS = frozenset({ProblemKind.PAUSED, ProblemKind.LONG, ProblemKind.RESTORE})
CALM = frozenset({ProblemKind.LONG, ProblemKind.RESTORE})


class Badge(NamedTuple):
    """`own_icon`: in place of the tone's; none if empty."""

    tone: Literal["ok", "working", "waiting", "failed", "off", "none", "pin"]
    text: str
    own_icon: str | None = None

    @property
    def icon(self) -> str:
        return ICONS[self.tone] if self.own_icon is None else self.own_icon


DELETED = Badge("off", "Deleted")
DONE = Badge("ok", "Done")
EMPTY = Badge("none", "Empty")
MUTED = Badge("off", "Muted")
NOTHING_MISSING = Badge("ok", "Nothing is missing")
PINNED = Badge("pin", "Pinned")
RETRYING = Badge("working", "Retrying")
SIGNED_IN = Badge("off", "Signed in", "")

SEARCH_STATES = {
    SearchState.SEARCHABLE: Badge("ok", "Ingested"),
    SearchState.UPDATING: Badge("working", "Updating after an edit"),
    SearchState.INGESTING: Badge("working", "Ingesting"),
    SearchState.WAITING: Badge("waiting", "Waiting"),
    SearchState.FAILED: Badge("failed", "Not searchable"),
    SearchState.LOST: Badge("failed", "Lost its vectors"),
    SearchState.SKIPPED: Badge("off", "Not included"),
    SearchState.NOT_COUNTED: Badge("off", "History only"),
}
PENDING = SEARCH_STATES[SearchState.WAITING]
JOB_STATES = {
    JobState.QUEUED: Badge("waiting", "Queued"),
    JobState.RUNNING: Badge("working", "Running"),
    JobState.DONE: DONE,
    JobState.FAILED: Badge("failed", "Failed"),
    JobState.CANCELLED: Badge("off", "Cancelled"),
}
RETRIED = {
    "retrying": RETRYING,
    "searchable": SEARCH_STATES[SearchState.SEARCHABLE],
    "failed": Badge("failed", "Failed again"),
    "deleted": DELETED,
}
VERDICTS: dict[Verdict, Badge] = {
    "fits": Badge("ok", "memories fit the question"),
    "may_help": Badge("ok", "memories may help"),
    "did_not_help": Badge("waiting", "memories do not fit"),
    "nothing_found": Badge("waiting", "no memories recalled"),
    "not_asked": Badge("off", "no memories asked for"),
}


def counted(retried: Mapping[str, int]) -> list[Badge]:
    """What became of retried messages, with their numbers."""
    order = ("searchable", "failed", "retrying")
    return [
        Badge(RETRIED[name].tone, f"{retried[name]:,} {RETRIED[name].text.lower()}") for name in order if retried[name]
    ]


def dead_letters(found: DeadLetterText) -> Badge:
    """Of the messages with one text."""
    if found.retrying == found.messages:
        return RETRYING
    return Badge("working", f"{found.retrying} retrying") if found.retrying else SEARCH_STATES[SearchState.FAILED]


def step(is_done: bool, waits_for: str) -> Badge:
    return DONE if is_done else Badge("waiting", waits_for)


def problem(found: Problem) -> Badge:
    return Badge("waiting" if found.kind in WAITS else "failed", found.title)


def parts(found: Sequence[PartView] | None, *, named: bool = False) -> Badge:
    """Of the whole stack."""
    if found is None:
        return Badge("failed", "Not known")
    away = [each.label for each in found if not each.ok]
    if not away:
        return Badge("ok", f"All {len(found)} answer")
    return Badge(
        "failed", f"Away: {', '.join(away)}" if named else f"{len(away)} {'part' if len(away) == 1 else 'parts'} away"
    )


def part(found: PartView, held: Problem | None = None, text: str = "") -> Badge:
    """Of one part. `held`: what a worker that answers does in place of its work. `text`: its name instead of words."""
    if held is not None:
        return Badge("working" if held.kind in CALM else "failed", "Busy" if held.job_id else "Does not ingest")
    return Badge("ok", text or "Answers") if found.ok else Badge("failed", text or "Away")
