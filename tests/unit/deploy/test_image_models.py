"""The model that an image has is where no volume hides it."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from memorybase.core.embedding.exported import SHIPPED

ROOT = Path(__file__).resolve().parents[3]


def test_no_volume_is_over_an_images_model() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    stages = dict(re.findall(r"^FROM \S+ AS (\w+)\n(.*?)(?=^FROM|\Z)", dockerfile, re.MULTILINE | re.DOTALL))
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    mounted = {volume.split(":")[1] for volume in compose["x-memorybase"]["volumes"]}
    mounted |= set(re.findall(r"^VOLUME (\S+)", dockerfile, re.MULTILINE))
    assert mounted == {"/data"}
    for name, made in (("complete", r"export-model (\S+)"), ("slim", r"^COPY --from=complete \S+ (\S+)")):
        assert re.findall(made, stages[name], re.MULTILINE) == [str(SHIPPED)], name
    assert not any(SHIPPED.is_relative_to(volume) for volume in mounted)
