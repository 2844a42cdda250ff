"""What the API's lists and reads show, always within one user. Read-only: nothing here locks.

sessions       flows, sessions and messages             session_queries
runs           runs: asked, answered, given, state      run_queries
end_users      the persons in sessions and chats        end_user_queries
search_states  whether a session or run is searchable
text_filter    the text filter of lists
branches       the branches of a session
transcript     a session as a conversation, along one thread       thread_ranges, transcript_queries
run_story      a run: what its models were given, and when its messages were searchable    story_queries
ingestion      how far a run or a message is in each memory base
memory_bases   memory bases, their sessions, builds     memory_base_queries
overview       everything in one look                    overview_queries
latest_runs    the latest runs in a few words
condition      the condition of a memory base, in one word
jobs           ingestion jobs and dead letters
named          what has a name like a text, for the command palette
dead_letters   dead letters by cause and text          dead_letter_queries
activity       captured and ingested messages over time  activity_queries
titles         what sessions are called, and when their messages were written
views          copies rows into views
"""

from __future__ import annotations
