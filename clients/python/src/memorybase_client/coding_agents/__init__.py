"""Memory for coding agents: hooks that capture their sessions and recall from earlier ones.

For the one who installs them:

agents       the agents: where each keeps its settings, and the entries that are added to them
settings     read and change an agent's settings, touching only our entries
install      install, uninstall, and what is known of the hooks of this machine
history      sessions that the agents' own files keep from before the hooks
cursors      those of Cursor, in its database

The hook, which imports the standard library only, of this package as little as it needs:

hook         the script that agents run: one event, or in the background the spool
hosts        what each agent's events are answered with
events       what is used of an event
files        small files that are replaced whole
spool        events that wait on disk, and the background process that sends them
memory       calls of the API
recall       memories for a session's start or a prompt
given        what was recalled, kept until the run is known that it belongs to; sessions whose first prompt was seen
capture      new messages of a transcript, posted
transcripts  lines of the agents' transcripts as messages
opencode     sessions in opencode's database; opencode.js is the plugin that runs the hook
"""

from __future__ import annotations
