"""How Alembic runs a migration here. memorybase.core.database.migrate connects and keeps other migrators out."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection

from memorybase import features
from memorybase.core.database import migrate
from memorybase.core.models import Base

features.hooks()  # which declares their tables


def run(connection: Connection) -> None:
    is_sqlite = connection.dialect.name == "sqlite"
    if is_sqlite:
        connection = connection.execution_options(begin_immediate="FULL")
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        # SQLite alters a table by copying it; new tables need no batch mode.
        render_as_batch=context.config.attributes.get("render_as_batch", True),
        render_item=migrate.render_item,
        include_name=migrate.include_name,
        # PostgreSQL keeps the revisions before the one that failed, and holds each one's locks no longer than needed.
        transaction_per_migration=not is_sqlite,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()
        if is_sqlite and (broken := connection.exec_driver_sql("PRAGMA foreign_key_check").all()):
            raise RuntimeError(f"the migration breaks foreign keys: {sorted({row[0] for row in broken})}")


if context.is_offline_mode():
    raise SystemExit("Migrations run against a database; there is no offline mode.")
run(context.config.attributes["connection"])
