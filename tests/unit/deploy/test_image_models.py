"""The model that an image has is where no volume hides it."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]


def test_no_volume_is_over_an_images_model() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    stages = dict(re.findall(r"^FROM \S+ AS (\w+)\n(.*?)(?=^FROM|\Z)", dockerfile, re.MULTILINE | re.DOTALL))
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    mounted = {volume.split(":")[1] for volume in compose["x-memorybase"]["volumes"]}
    mounted |= set(re.findall(r"^VOLUME (\S+)", dockerfile, re.MULTILINE))
    assert mounted == {"/data"}
    for name, exported in (
        ("full", r"export-model (\S+)"),
        ("slim", r"^COPY --from=complete \S+ (\S+)"),
    ):
        stage = stages["complete"] + stages[name] if name == "full" else stages[name]
        (folder,) = re.findall(exported, stage, re.MULTILINE)
        assert not any(Path(folder).is_relative_to(volume) for volume in mounted), (name, folder)
        assert re.search(rf"MEMORYBASE_MODEL(_IMAGE)?_DIR={folder}\b", stages[name]), (name, folder)
