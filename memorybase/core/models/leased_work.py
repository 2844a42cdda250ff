"""Columns of rows that ask a worker for work; memorybase/core/queries/leased_work.py has the rules."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from sqlalchemy import BigInteger
from sqlalchemy.orm import Mapped, mapped_column


class LeasedWork:
    """A row that is also the outbox entry of work that one worker at a time does.

    Each claim, each result and each change that makes a result useless increments `version`."""

    fixed: ClassVar[tuple[str, ...]] = ()  # columns whose change makes a result useless too

    version: Mapped[int] = mapped_column(BigInteger, default=0)
    notify_at: Mapped[datetime | None]  # work is pending, and the sweeper notifies a worker then
    lease_until: Mapped[datetime | None]  # a worker has claimed it until then
    attempts: Mapped[int] = mapped_column(default=0)  # since the last success
