"""Each revision keeps the rules of CONTRIBUTING.md, and samples of what went wrong are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from harness import revisions
from harness.postgres import PostgresServer
from harness.revisions import BUILD, COLUMN, add_revision
from harness.tables import make_sqlite

CUTS = 4  # of each revision in the fast suite
GOOD = {
    "a column with a constant default": COLUMN,
    "a concurrent build": BUILD,
    "a constraint that is validated later": "op.execute('ALTER TABLE runs ADD CHECK (true) NOT VALID')",
    "a new table with an index": 'op.create_table("new", sa.Column("id", sa.Integer(), index=True))',
}
ON_POSTGRESQL_ALONE = {"a constraint that is validated later"}
BAD = {
    "a column before a concurrent build": (COLUMN + BUILD, ("must stand alone", "cannot be run again")),
    "two concurrent builds": (BUILD + BUILD.replace("ix_runs_new", "ix_runs_next"), ("must stand alone",)),
    "a build that keeps an invalid index": (
        BUILD.replace("DROP INDEX CONCURRENTLY IF EXISTS ix_runs_new", "SELECT 1").replace(
            "postgresql_concurrently", "if_not_exists=True, postgresql_concurrently"
        ),
        ("makes another schema",),
    ),
    "an index that writers wait for": ('op.create_index("ix_new", "runs", ["created_at"])', ("scans runs",)),
    "a default for each row": (
        'op.execute("ALTER TABLE runs ADD COLUMN new uuid DEFAULT gen_random_uuid()")',
        ("rewrites runs",),
    ),
    "a column that may not be null any more": (
        'op.alter_column("runs", "external_id", nullable=False)',
        ("scans runs",),
    ),
    "a foreign key that is validated at once": (
        'op.create_foreign_key("fk_new", "runs", "flows", ["flow_id"], ["id"])',
        ("scans runs",),
    ),
    "every row in one statement": ("op.execute(\"UPDATE runs SET external_id = 'x'\")", ("scans runs",)),
}
BAD_ON_SQLITE = {
    "a table that is copied": (
        'with op.batch_alter_table("runs") as batch:\n    batch.alter_column("external_id", nullable=False)\n',
        ("copies runs",),
    ),
    "a revision that commits in between": (
        f"with op.get_context().autocommit_block():\n    {COLUMN}    op.drop_column('heartbeats', 'draining_at')\n",
        ("cannot be run again",),
    ),
}


@pytest.fixture(params=["sqlite", "postgresql"])
def new_database(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_server: PostgresServer
) -> Iterator[Callable[..., str]]:
    """Makes a database, without tables or with this version's."""
    names: list[str] = []

    def make(*, migrated: bool = False) -> str:
        if request.param == "sqlite":
            path = tmp_path / f"{uuid4().hex}.db"
            if migrated:
                make_sqlite(path)
            return f"sqlite:///{path}"
        template = {"template": postgres_server.template} if migrated else {}
        names.append(postgres_server.create_database(**template))
        return postgres_server.url(names[-1])

    yield make
    for name in names:
        postgres_server.drop_database(name)


@pytest.mark.both_databases
def test_every_revision_keeps_the_rules(new_database: Callable[..., str]) -> None:
    assert [
        fault for each in revisions.all_revisions() for fault in revisions.faults(each, new_database, cuts=CUTS)
    ] == []


@pytest.mark.slow
def test_every_revision_may_be_cut_off_at_any_statement(new_database: Callable[..., str]) -> None:
    assert [fault for each in revisions.all_revisions() for fault in revisions.faults(each, new_database)] == []


def test_revisions_that_break_the_rules_are_refused(
    new_database: Callable[..., str],
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    subtests: pytest.Subtests,
) -> None:
    is_sqlite = "sqlite" in request.node.name
    good = {name: (body, ()) for name, body in GOOD.items() if not (is_sqlite and name in ON_POSTGRESQL_ALONE)}
    new_database(migrated=True)  # the template, before the samples are revisions
    for name, (body, wanted) in ({**good, **(BAD_ON_SQLITE if is_sqlite else BAD)}).items():
        folder = tmp_path / name
        folder.mkdir()
        with monkeypatch.context() as patch, subtests.test(name):
            found = revisions.faults(add_revision(patch, folder, body), lambda: new_database(migrated=True))
            assert [each for each in wanted if not any(each in fault for fault in found)] == [], found
            assert bool(found) == bool(wanted)
