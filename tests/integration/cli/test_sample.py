"""`memorybase sample`: the same sample as the web page's, loaded and removed as often as one likes."""

from __future__ import annotations

import pytest
from harness.api import Api
from harness.clients import client_of
from memorybase_client import Client, models
from typer.testing import CliRunner

from memorybase import cli
from memorybase.cli import command, sample
from memorybase.core.import_export import sample as data


def test_the_sample_is_loaded_once_with_the_page_and_removed(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def ingest(client: Client, base: models.MemoryBaseView) -> models.MemoryBaseView:
        while api.work():
            pass
        if client.get_memory_base(base.id).pending_messages:
            client.flush_memory_base(base.id)
            api.work()
        return client.get_memory_base(base.id)

    monkeypatch.setattr(command, "connect", lambda *_: client_of(api))
    monkeypatch.setattr(sample, "ingest", ingest)
    run = CliRunner().invoke
    first, again = (run(cli.app, ["sample"]).output.splitlines() for _ in range(2))
    assert first[0] == "flow sample: 68 new messages, 68 ingested"
    assert again == ["flow sample: 0 new messages, 68 ingested", *first[1:]]
    (base,) = api.get("/memories", flow_id="sample")["items"]
    assert first[1] == f"memory base Sample memory: {base['id']}"
    assert first[2] == 'next: memorybase search "What is Priya allergic to?" --memory "Sample memory"'
    assert data.load(api.services, api.user_id) == 0

    assert run(cli.app, ["sample", "--remove"]).output == "removed the sample\n"
    assert api.get("/flows")["items"] == []
    assert run(cli.app, ["sample", "--remove"]).output == "there is no sample\n"
