"""Read models: the answers of the API's lists and reads, always within one user. Read-only: nothing here locks.

The statements are in `queries`; rules, words and views are here.

sessions       flows, sessions and messages, and objects with a name like a text
runs           runs: asked, answered, given, state
end_users      the persons in sessions and chats
branches       the branches of a session
transcript     a session as a conversation, along one thread
run_story      a run: the memory that its models were given, and when its messages were searchable
ingestion      progress of a run or a message in each memory base
memory_bases   memory bases, their sessions, builds
overview       everything in one look
latest_runs    the latest runs in a few words
onboarding     the steps that a new user has done
jobs           ingestion jobs and dead letters
dead_letters   dead letters by cause and text
activity       captured and ingested messages over time
titles         titles of sessions, and the times of their messages
views          copies rows into views
"""

from __future__ import annotations
