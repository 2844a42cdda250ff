"""${message}

Created ${create_date.date()}.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
${imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}

# A migration that waits for a lock makes every later query wait behind it: give up soon, and be run again.
LOCK_TIMEOUT = "5s"


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
    ${downgrades if downgrades else "pass"}
