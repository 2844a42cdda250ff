"""A fill of the benchmark of scale that is cut off goes on, and leaves what one in one go leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from harness.index import stored_postings, wanted_postings
from scaling import rows
from scaling.bulk import KEPT
from scaling.rows import LEAVING_MESSAGES, LEAVING_SESSIONS
from scaling.stage import OTHER_FLOWS, OTHER_SIZE, Size, Stage, filled

from memorybase.core.memory_bases import consistency
from memorybase.core.models import IngestionJob, LedgerEntry, MemoryBase, Message, Run, Session, TokenVectors

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SIZE = Size(messages=1_200, sessions=6)
PIECE = 100  # messages: most sessions are several batches
FILL = """
import signal, sys
from pathlib import Path
from scaling import rows
from scaling.stage import Size, filled
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
rows.PIECE = {piece}
with filled("sqlite-chroma", Size({messages}, {sessions}), embed=False, directory=Path(sys.argv[1])):
    pass
"""
# After so many lines about progress. The last one kills while postings are written and indexes are built.
CUT_OFF = ((2, signal.SIGKILL), (5, signal.SIGINT), (OTHER_FLOWS, signal.SIGKILL))


def cut_off(directory: Path, lines: int, how: signal.Signals) -> list[str]:
    """What a fill says until it is cut off after so many lines."""
    code = FILL.format(piece=PIECE, messages=SIZE.messages, sessions=SIZE.sessions)
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(directory)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stderr is not None
        said = [process.stderr.readline() for _ in range(lines)]
        process.send_signal(how)
        process.stderr.read()
    assert process.returncode == -how
    return said


def contents(stage: Stage) -> dict[str, Any]:
    """What two stores that were filled alike have in common: not the ids of flows and memory bases, nor the times."""
    message = (Message.id, Message.seq, Message.role, Message.content, Message.sender_name, Message.session_id)
    with stage.services.database.reading() as db:
        return {
            "messages": sorted(db.execute(sa.select(*message))),
            "ledger": sorted(db.execute(sa.select(LedgerEntry.message_id, LedgerEntry.chunks))),
            "tokens": sorted(db.execute(sa.select(TokenVectors.message_id, TokenVectors.vectors))),
            "runs": sorted(db.scalars(sa.select(Run.id))),
            "jobs": sorted(db.scalars(sa.select(IngestionJob.id))),
            "sessions": sorted(db.execute(sa.select(Session.id, Session.last_seq, Session.terms))),
            "indexes": sorted(db.scalars(sa.text("SELECT name FROM sqlite_master WHERE type = 'index'"))),
        }


def assert_whole(stage: Stage) -> None:
    services = stage.services
    with services.database.reading() as db:
        assert stored_postings(db) == wanted_postings(db)
        held = sa.select(LedgerEntry.memory_base_id, sa.func.sum(LedgerEntry.chunks))
        chunks = {row[0]: row[1] for row in db.execute(held.group_by(LedgerEntry.memory_base_id))}
        bases = list(db.scalars(sa.select(MemoryBase.id)))
    assert not sa.inspect(services.database.engine).has_table(KEPT.name)
    assert len(bases) == 1 + OTHER_FLOWS
    for base_id in bases:
        assert consistency.check_mismatch(services, stage.user_id, base_id).state == "ok"
        assert services.vectors.count(stage.collection(base_id)) == chunks[base_id]


def messages_of(said: str) -> int:
    """How many messages there are, by a line about progress."""
    return int(said.split(" of ", maxsplit=1)[0].replace(",", ""))


def test_a_fill_that_was_cut_off_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rows, "PIECE", PIECE)
    (directory := tmp_path / "kept").mkdir()
    begun = [messages_of(cut_off(directory, lines, how)[0]) for lines, how in CUT_OFF]
    assert begun[-1] > begun[0], "it began again with the first session"
    with filled("sqlite-chroma", SIZE, embed=False, directory=directory) as stage:
        assert_whole(stage)
        resumed = contents(stage)
    capsys.readouterr()
    with filled("sqlite-chroma", SIZE, embed=False, directory=directory):
        assert capsys.readouterr().err == "", "what is filled already is not filled again"
    with filled("sqlite-chroma", SIZE, embed=False) as stage:
        assert_whole(stage)
        assert contents(stage) == resumed
        count = SIZE.messages + LEAVING_SESSIONS * LEAVING_MESSAGES + OTHER_FLOWS * OTHER_SIZE.messages
        assert len(resumed["messages"]) == count == stage.messages
