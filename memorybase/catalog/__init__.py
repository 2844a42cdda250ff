"""Read models: what every list and look-up of the API shows, within one user. Reading only; nothing here locks."""

from __future__ import annotations
