"""The web page at /ui: memories, sessions, search, jobs, keys and health, with the buttons to fix what failed.

    nicegui_setup    mounts the pages on the API's application
    visits           the signed-in key behind a page, and its calls of the domain
    same_origin      refuses what other sites cause
    content_policy   the pages' Content-Security-Policy
    sign_in          signing in and out, and error pages: plain HTML
    layout           header and navigation of every page
    parts            components that the pages share
    forms            dialogs that create, edit and delete a memory
    message_view     a message with its parts, tool calls and files
    message_forms    dialogs that edit and delete messages and sessions
    search_results   search results; score_breakdown explains their scores
    pages/           one module for each page

NiceGUI builds the pages in Python and updates them over a web socket; its wheel holds everything that a browser loads.
"""

from __future__ import annotations

from api.web.nicegui_setup import mount

__all__ = ["mount"]
