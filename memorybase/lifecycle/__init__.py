"""What else may touch a store: create, edit, repair, regenerate, compare, delete."""

from __future__ import annotations
