"""What a stack tells once it serves: the address for clients, what a shell needs, a link to sign in."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from memorybase_client import Client, local_stack
from memorybase_client import errors as client_errors

from memorybase.core import shell
from memorybase.core.settings import Settings
from memorybase.stack.state import DataDir, noted

SIGN_IN_SECONDS = 5.0
NOTE_SECONDS = 10.0  # between two looks at whether clients find a stack

Report = Callable[[str], None]


def local_of(url: str, data: DataDir, settings: Settings) -> local_stack.LocalStack:
    """The note of this stack for clients."""
    return local_stack.LocalStack(url, data.api_key(settings), str(data.path))


def note_for_clients(local: local_stack.LocalStack, report: Report) -> None:
    try:
        local_stack.note(local)
    except (OSError, RuntimeError) as exc:
        report(f"note: clients cannot find this stack by themselves: {exc}; set MEMORYBASE_URL and MEMORYBASE_API_KEY")


async def stay_noted(local: local_stack.LocalStack) -> None:
    """The latest stack is the one that clients find: note this one again when that has ended."""
    while True:
        await asyncio.sleep(NOTE_SECONDS)
        if noted() is None:
            with contextlib.suppress(OSError, RuntimeError):  # it was reported at the start
                local_stack.note(local)


def say_what_to_export(data: DataDir, settings: Settings, report: Report) -> None:
    """What a shell needs for the commands of the guides."""
    programs = Path(sys.executable).parent
    report("in another terminal:")
    if not (shutil.which("memorybase") or "").startswith(str(programs)):
        report(f"  {shell.export_path(programs)}")
    if settings.api_key:
        report("  export MEMORYBASE_API_KEY=…  # as it is set for this stack")
    else:
        report(f"  {shell.export('MEMORYBASE_API_KEY', data.key_file.absolute())}")


async def offer_sign_in(local: local_stack.LocalStack, settings: Settings, report: Report) -> None:
    """Print a sign-in link. Optional, because the web page accepts the key too."""
    if not settings.web:
        return
    try:
        link = await asyncio.to_thread(_sign_in_link, local)
    except client_errors.MemorybaseError as exc:
        report(f"note: no sign-in link could be created: {exc.message}")
    else:
        report(f"sign in: {link}")


def _sign_in_link(local: local_stack.LocalStack) -> str:
    with Client(local.url, local.key, timeout_seconds=SIGN_IN_SECONDS, tries=1) as client:
        return f"{client.url}{client.create_sign_in_link().url_path}"
