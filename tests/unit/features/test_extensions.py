"""Every extension is what its folder has."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.extension import Routes
from api.web.extension import Pages
from memorybase import features
from memorybase.cli.extension import Commands
from memorybase.core.extension import Extension, Hooks

FOLDER = Path(features.__file__).parent
PARTS = ("hooks", "routes", "page", "commands")


def test_each_folder_is_in_the_list() -> None:
    assert {each.name for each in features.EXTENSIONS} == {path.parent.name for path in FOLDER.glob("*/__init__.py")}


@pytest.mark.parametrize("extension", features.EXTENSIONS, ids=lambda each: each.name)
def test_an_extension_declares_the_parts_that_its_folder_has(extension: Extension) -> None:
    folder = FOLDER / extension.name
    assert extension.parts == tuple(
        part for part in PARTS if (folder / f"{part}.py").exists() or (folder / part).is_dir()
    )
    loaded = extension.hooks(), extension.routes(), extension.pages(), extension.commands()
    for part, found, kind in zip(PARTS, loaded, (Hooks, Routes, Pages, Commands), strict=True):
        assert isinstance(found, kind) if part in extension.parts else found is None
