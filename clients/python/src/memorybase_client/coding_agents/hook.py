"""The hook that a coding agent runs. The standard library only, Python 3.9 or later.

    python -I -S hook.py --config FILE AGENT      an event, as JSON on standard input
    python -I -S hook.py --config FILE --drain    in the background: send the spool's entries
    python -I -S hook.py --plugin AGENT           an event, configured as the agent's plugin; --drain as above
    python -I -S hook.py --plugin --start         in the background: start memorybase on this machine

Where the package is on the path, `python -m memorybase_client.coding_agents.hook` is the same. It never delays or stops
the agent. An event is written to the spool, a file each, and sent by a background process. Recall ends at a deadline,
without output. The exit code is always 0, because 2 would block the agent.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading

if not __package__:  # run by its path, and -S leaves the path without packages
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from memorybase_client.coding_agents import hosts, plugin, spool
from memorybase_client.coding_agents.events import Json, read_event
from memorybase_client.coding_agents.files import read_json

DEADLINE_SECONDS = 0.2  # of a hook, from its start; the interpreter takes about 50 ms before
CAPTURE_SECONDS = 2.0  # if it only writes a file: a machine that is busy loses no event
MAX_EVENT_BYTES = 4_000_000


def main(arguments: list[str]) -> None:
    """Run one hook, or drain the spool. Does not return."""
    try:
        place = 1 if arguments[0] == plugin.PLUGIN else 2
        source, what = arguments[:place], arguments[place].rstrip(";")  # where cmd of Windows ends no word
        config = load_config(source)
        if what == "--drain":
            spool.drain(config)
        if what == "--start":
            from memorybase_client.coding_agents import stack_start

            stack_start.start(config)
        if what.startswith("--"):
            os._exit(0)
    except Exception:
        os._exit(0)
    deadline = Deadline(float(config.get("deadline_seconds", DEADLINE_SECONDS)))
    text = ""
    with contextlib.suppress(Exception):
        agent = plugin.agent_of(what) if source == [plugin.PLUGIN] else what
        event = read_event(agent, json.loads(sys.stdin.buffer.read(MAX_EVENT_BYTES)))
        if event["name"] not in hosts.RECALLING:
            deadline.extend(CAPTURE_SECONDS)
        text = plugin.answer(config, event) if source == [plugin.PLUGIN] else hosts.answer(config, event)
    deadline.answer(text)


def load_config(source: list[str]) -> Json:
    """The configuration that `memorybase hooks install` wrote, or the plugin's."""
    if source == [plugin.PLUGIN]:
        return plugin.load_config()
    path = os.path.abspath(source[1])
    config = read_json(path)
    return {**config, "arguments": ["--config", path], "spool": os.path.join(config["state_dir"], "spool")}


class Deadline:
    """Ends this process with exit code 0 when the time is over, whatever it waits for. An answer that came in time is
    written whole."""

    def __init__(self, seconds: float) -> None:
        self._once = threading.Lock()
        self._seconds = seconds
        self._start()

    def _start(self) -> None:
        self._timer = threading.Timer(self._seconds, self._over)
        self._timer.daemon = True
        self._timer.start()

    def extend(self, seconds: float) -> None:
        """Allow at least so much from now on."""
        self._timer.cancel()
        self._seconds = max(self._seconds, seconds)
        self._start()

    def _over(self) -> None:
        if self._once.acquire(blocking=False):
            os._exit(0)

    def answer(self, text: str) -> None:
        """Write the text and end the process."""
        if not self._once.acquire(blocking=False):
            threading.Event().wait()  # the other thread ends the process
        with contextlib.suppress(OSError):
            os.write(1, text.encode())
        os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
