"""The web page at /ui: what is remembered, what waits, what went wrong, and the buttons that mend it.

    mounting  the pages on the API's application
    visits    who looks: the cookie, the services, and every call of the domain
    entrance  signing in and out
    frame     what surrounds every page
    parts     what several pages are made of
    pages/    one module a page

NiceGUI builds the pages in Python and keeps them live over a web socket; all that a browser loads comes from its wheel.
"""

from __future__ import annotations

from api.web.mounting import mount

__all__ = ["mount"]
