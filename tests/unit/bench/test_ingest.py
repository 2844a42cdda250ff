"""The benchmark's arithmetic, its texts and its command line; what it measures needs a quiet machine, not a test."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path

import ingest
import peering
import pytest
from ingesting import figures, growing, plotting
from ingesting.peers import PEERS, Peers
from ingesting.texts import Corpus

SAID = [{"speaker": "Ann", "dia_id": f"D1:{n}", "text": f"turn {n}"} for n in range(3)]
LOCOMO = [
    {
        "sample_id": "one",
        "conversation": {
            "speaker_a": "Ann",
            "session_1": SAID,
            "session_1_date_time": "1:56 pm on 8 May, 2023",
        },
        "qa": [{"question": "Which turn?"}, {"question": "Which turn?"}, {"question": "What else?"}],
    }
]


class TestArithmetic:
    def test_a_percentile_is_a_value_that_was_measured(self) -> None:
        values = [float(n) for n in range(100, 0, -1)]
        assert [figures.percentile(values, share) for share in (0.5, 0.95, 0.99, 1.0)] == [50, 95, 99, 100]
        assert figures.percentile([7.0], 0.5) == 7

    def test_latencies_are_in_milliseconds_and_say_of_how_many(self) -> None:
        assert figures.latencies([0.01, 0.02]) == {"count": 2, "p50_ms": 10.0, "p95_ms": 20.0, "p99_ms": 20.0}
        assert figures.latencies([]) == {"count": 0}

    def test_one_disturbed_pair_does_not_move_the_share_of_the_limit(self) -> None:
        found = figures.share_of_limit([(90, 100), (10, 100), (180, 200)])
        assert (found["share_of_limit"], found["messages_per_second"], found["limit_per_second"]) == (0.9, 90, 100)

    def test_peers_are_compared_with_what_memorybase_reached(self) -> None:
        assert figures.compared(300, {"mem0": {"messages_per_second": 30.0}}) == {
            "mem0": {"messages_per_second": 30.0, "memorybase_is_times_as_fast": 10.0}
        }

    def test_growth_is_the_last_steps_in_proportion_to_the_first_but_one(self) -> None:
        assert figures.growth([9, 1, 1, 1, 1, 2, 2, 2]) == 2
        assert figures.growth([1, 3]) == 3
        assert figures.growth([5]) == 1

    def test_the_table_names_nested_figures_and_leaves_series_out(self) -> None:
        shown = figures.table({"bulk": {"rate": 1.5, "mem0": {"rate": 2}, "pairs": [[1, 2]]}})
        assert [line.split() for line in shown.splitlines()[1:]] == [["bulk"], ["rate", "1.5"], ["mem0.rate", "2"]]


class TestTexts:
    def test_no_text_is_handed_out_twice_even_past_the_end_of_the_file(self, tmp_path: Path) -> None:
        file = tmp_path / "data.json"
        file.write_text(json.dumps(LOCOMO))
        corpus = Corpus.from_file(file)
        taken = corpus.take(2) + corpus.take(5)
        assert taken == ["turn 0", "turn 1", "turn 2", "turn 0 (2)", "turn 1 (2)", "turn 2 (2)", "turn 0 (3)"]
        assert corpus.questions(9) == ["Which turn?", "What else?"]

    def test_made_texts_are_the_same_every_time(self) -> None:
        assert Corpus.made().sha256 == Corpus.made().sha256
        assert len(set(Corpus.made().take(5_000))) == 5_000


class TestCommandLine:
    def test_every_section_has_something_that_measures_it(self) -> None:
        chosen = ingest.parser().parse_args([])
        made = ingest.on_the_stack(chosen, Corpus.made(), Peers(chosen.peers, "all-MiniLM-L6-v2"))
        assert tuple(made) == ingest.ON_THE_STACK
        assert chosen.only == list(ingest.SECTIONS)

    def test_an_unknown_section_is_refused_by_name(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            ingest.parser().parse_args(["--only", "bulk,speed"])
        assert "must be one of startup, bulk" in capsys.readouterr().err

    def test_sizes_are_numbers(self) -> None:
        assert ingest.parser().parse_args(["--sizes", "10,200"]).sizes == [10, 200]


class _List:
    def __init__(self) -> None:
        self.held: list[peering.Message] = []

    def add(self, messages: Sequence[peering.Message]) -> None:
        self.held += messages

    def count(self) -> int:
        return len(self.held)


class TestPeers:
    def test_without_their_environment_there_are_no_figures(self, tmp_path: Path) -> None:
        peers = Peers(tmp_path, "all-MiniLM-L6-v2")
        assert not peers.installed
        assert peers.measure("bulk", ["a text"], None) == {}

    def test_each_has_its_script(self) -> None:
        assert all((Path(ingest.ROOT) / "bench" / peer.script).is_file() for peer in PEERS)

    def test_a_script_answers_with_what_came_of_each_work(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        said = {"role": "user", "content": "a"}
        asked = {"model": "folder", "warm": [said], "work": {"bulk": [[said, said]], "tens": [[said], [said]]}}
        monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(asked)))
        monkeypatch.setattr(peering, "prepare", lambda _home: None)
        peering.serve(["pytest"], lambda _model: lambda _directory: _List())
        answer = json.loads(capsys.readouterr().out)
        assert {name: (work["messages"], work["stored"]) for name, work in answer["work"].items()} == {
            "bulk": (2, 2),
            "tens": (2, 2),
        }
        assert answer["versions"]["pytest"]


class TestGrowth:
    def test_our_own_part_ingests_every_message(self) -> None:
        found = growing.own_part(Corpus.made(), messages=100, step=50)
        assert (found["messages"], len(found["seconds_a_step"])) == (100, 2)
        assert found["first_ms_a_message"] > 0


class TestPlot:
    REPORT = {  # noqa: RUF012 - read only
        "bulk": {"messages_per_second": 200.0, "limit_per_second": 250.0, "mem0": {"messages_per_second": 30.0}},
        "capture": {"p50_ms": 5.0, "p95_ms": 9.0},
        "postgresql": {"left_out": "no PostgreSQL here"},
        "search": {"1000_messages": {"p50_ms": 7.0, "p95_ms": 8.0}},
    }

    def test_who_was_not_measured_has_no_height(self) -> None:
        assert plotting.rates(self.REPORT["bulk"]) == [200.0, 250.0, 0.0, 30.0]

    def test_only_what_was_measured_is_drawn(self) -> None:
        assert plotting.waits(self.REPORT) == {"capture, SQLite": (5.0, 9.0), "search, 1000 messages": (7.0, 8.0)}
