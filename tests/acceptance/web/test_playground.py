"""The playground in a browser, against a real stack."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from harness.browser import IN_EVERY_LOOK, Reader
from harness.stack import KEY, EmbeddedStack
from memorybase_client import Client
from playwright.sync_api import expect

pytestmark = pytest.mark.slow  # a browser

Window = Callable[..., Reader]

QUESTION = "which berth has shore power"
ASKED = "/playground?q=which+berth+has+shore+power&flow=harbour"


@pytest.fixture(scope="module", autouse=True)
def harbour(web_stack: EmbeddedStack) -> None:
    """A flow with sessions of two people, and a memory that has ingested them."""
    with Client(web_stack.url, KEY) as client:
        client.put_flow("harbour", name="Harbour bot")
        base = client.create_memory_base(name="Harbour memory", flow_id="harbour", capture="all", threshold=50)
        for number, berth in enumerate((12, 36, 14)):
            said = [
                ("user", "Which berth has shore power for my boat?"),
                ("assistant", f"Berth {berth} has 16 A shore power, and it is free from Friday."),
                ("user", "How do I reset the gate code?"),
                ("assistant", "Your gate code changes on the first of each month."),
            ]
            messages = [{"role": role, "content": text} for role, text in said]
            client.capture_run(
                "harbour", session_id=f"s{number}", end_user_id=f"person-{number % 2}", messages=messages
            )
        client.flush_memory_base(base.id, wait=60)


def show_advanced(reader: Reader) -> None:
    """Whether it was opened in this tab before or not."""
    reader.page.locator("details.advanced").evaluate("each => { each.open = true; }")


class TestResults:
    def test_a_question_shows_bands_marked_words_and_why(self, window: Window) -> None:
        reader = window()
        reader.open("/playground?flow=harbour")
        reader.page.get_by_label("Question", exact=True).fill(QUESTION)
        reader.page.get_by_role("button", name="Ask").click()
        reader.settle()
        results = reader.page.get_by_role("region", name="Results")
        # Behind the question itself, which was asked before, and what was said to it.
        best = results.get_by_role("listitem").filter(has_text=re.compile("strong|good")).first
        assert {"Berth", "shore", "power"} <= set(best.locator("mark").all_text_contents())
        best.get_by_text(re.compile("^Why ")).click()
        expect(best.get_by_role("row").first).to_contain_text("Every message starts low: most do not answer a question")
        expect(best.get_by_role("row").last).to_contain_text("Score")
        reader.page.get_by_text(re.compile("that fits? less")).click()
        expect(results.get_by_text("2 alike").first).to_be_visible()  # the question was asked three times

    def test_a_meter_is_as_long_as_its_score_and_weak_is_grey(self, window: Window) -> None:
        reader = window()
        reader.open(ASKED)
        for score, fill in zip(
            reader.page.locator(".hit .score b").all_text_contents(),
            reader.page.locator(".hit .score .fill").all(),
            strict=True,
        ):
            value = 0.0 if score == "<0.01" else float(score)
            assert abs(float(fill.get_attribute("width") or "0") / 64 - value) < 0.011

    def test_a_lower_score_never_has_a_longer_bar_of_parts(self, window: Window) -> None:
        reader = window()
        reader.open(ASKED)
        reader.page.get_by_text(re.compile("that fits? less")).click()
        bars = reader.page.locator("li.hit").evaluate_all(
            """hits => hits.map(hit => [
                Number(hit.querySelector(".score .fill").getAttribute("width")),
                [...hit.querySelectorAll(".hit-bar rect:not(.track)")]
                    .reduce((sum, each) => sum + each.width.baseVal.value, 0),
            ])"""
        )
        assert len(bars) > 3
        lengths = [length for _, length in sorted(bars)]
        assert lengths == pytest.approx(sorted(lengths), abs=2)  # pixels

    def test_nonsense_fits_nothing(self, window: Window) -> None:
        reader = window()
        reader.open("/playground?q=quantum+chromodynamics+lattice&flow=harbour")
        expect(reader.page.get_by_text("Nothing fits well")).to_be_visible()
        hits = reader.page.locator("li.hit")
        assert hits.count() == reader.page.locator("li.hit.weak").count() > 0
        expect(hits.first).to_be_hidden()
        reader.page.get_by_text(re.compile("that fits? less")).click()
        expect(hits.first).to_be_visible()

    def test_filters_are_chips_in_the_address(self, window: Window) -> None:
        reader = window()
        reader.open(ASKED)
        reader.page.get_by_label("Speaker", exact=True).select_option("user")
        reader.page.wait_for_url(re.compile("role=user"))
        reader.settle()
        assert {text.strip() for text in reader.page.locator(".hit-head b").all_text_contents()} == {"User"}
        reader.page.get_by_role("link", name="Remove the filter Speaker: user").click()
        reader.settle()
        assert "role" not in reader.page.url
        reader.page.go_back()
        reader.settle()
        expect(reader.page.get_by_label("Speaker", exact=True)).to_have_value("user")

    def test_several_memories_and_all_are_searched(self, window: Window, client: Client) -> None:
        client.put_flow("lighthouse", name="Lighthouse bot")
        client.create_memory_base(name="Lighthouse memory", flow_id="lighthouse")
        for base in client.list_memory_bases():  # a search takes 50, and other modules left some in this stack
            if base.name not in {"Lighthouse memory", "Harbour memory"}:
                client.delete_memory_base(base.id)
        reader = window()
        reader.open("/playground?q=gate+code+first+of+each+month")  # other memories of this stack speak of berths
        expect(reader.page.locator("li.hit", has_text="Harbour memory").first).to_be_visible()


class TestSettings:
    def test_a_slider_answers_without_saving_and_the_address_restores_it(self, window: Window) -> None:
        reader = window()
        reader.open(ASKED)
        scores = reader.page.locator(".hit .score b")
        before = scores.all_text_contents()
        show_advanced(reader)
        with reader.page.expect_response(re.compile("/playground/results.*w.meaning=0")):
            reader.page.get_by_label("Meaning", exact=True).last.fill("0")
        reader.settle()
        expect(reader.page.locator("output[for=a-meaning]")).to_have_text("\N{MULTIPLICATION SIGN}0.0")
        assert scores.all_text_contents() != before
        assert "w.meaning=0" in reader.page.url
        after = reader.page.locator(".hit .score b").all_text_contents()
        reader.page.reload()
        reader.settle()
        expect(reader.page.get_by_label("Meaning", exact=True).last).to_have_value("0")
        assert reader.page.locator(".hit .score b").all_text_contents() == after

    def test_prefer_recent_is_saved_for_the_memory_and_undone(self, window: Window, client: Client) -> None:
        reader = window()
        reader.open(ASKED)
        show_advanced(reader)
        reader.page.get_by_label("Prefer recent").select_option("30")
        reader.page.get_by_role("button", name="Save weights for Harbour memory").click()
        notice = reader.page.locator(".notice")
        expect(notice).to_contain_text("Searches of this memory use these weights now.")
        base = next(base for base in client.list_memory_bases(flow_id="harbour"))
        stored = client.get_search_weights(base.id).stored
        assert stored is not None
        assert stored.half_life_days == 30
        notice.get_by_role("button", name="Undo").click()
        expect(reader.page.locator(".notice")).to_contain_text("The weights from before are back.")
        assert client.get_search_weights(base.id).stored is None

    def test_b_beside_a_marks_what_moved(self, window: Window) -> None:
        reader = window()
        reader.open(ASKED)
        reader.page.get_by_role("link", name="Compare with B").click()
        reader.settle()
        a, b = (reader.page.get_by_role("region", name=f"Results of {side}") for side in "AB")
        expect(a.locator(".move")).to_have_count(0)
        with reader.page.expect_response(re.compile("b.k=1")):
            reader.page.get_by_label("Results (top_k)").last.fill("1")
        reader.settle()
        expect(b.locator("li.hit")).to_have_count(1)
        expect(a.get_by_text("gone")).to_have_count(a.locator("li.hit").count() - 1)
        address = reader.page.url
        reader.page.goto(address)
        reader.settle()
        expect(b.locator("li.hit")).to_have_count(1)

    def test_memory_x_is_compared_with_memory_y(self, window: Window, client: Client) -> None:
        answers = client.create_memory_base(name="Only answers", flow_id="harbour", capture="outputs", threshold=50)
        client.flush_memory_base(answers.id, wait=60)
        reader = window()
        reader.open(f"{ASKED}&compare=1")
        a, b = (reader.page.get_by_role("region", name=f"Results of {side}") for side in "AB")
        asked_before = "Which berth has shore power for my boat?"
        with reader.page.expect_response(re.compile(f"b.in={answers.id}")):
            reader.page.get_by_label("B searches").select_option(label="Only answers · all-MiniLM-L6-v2")
        reader.settle()
        expect(b.get_by_role("status")).to_contain_text("B · Only answers")
        expect(a.locator(".hit-text", has_text=asked_before).first).to_be_attached()
        expect(b.locator(".hit-text", has_text=asked_before)).to_have_count(0)
        expect(a.get_by_text("gone").first).to_be_attached()
        reader.page.reload()  # the address has it
        reader.settle()
        expect(b.locator(".hit-text", has_text=asked_before)).to_have_count(0)
        client.delete_memory_base(answers.id)


class TestGiven:
    def test_what_the_model_gets_its_tokens_and_what_is_left_out(self, window: Window) -> None:
        reader = window()
        reader.open(ASKED + "&session=s0&min=0.3")
        given = reader.page.get_by_role("complementary", name="The model is given")
        expect(given).to_contain_text("of 600 tokens")
        expect(given).to_contain_text("History")
        expect(given).to_contain_text("in the history already")
        expect(reader.page.get_by_role("link", name="Remove the filter Person: person-0")).to_be_visible()
        with reader.page.expect_response(re.compile("/playground/given.*budget=60")):
            reader.page.get_by_label("Token budget").fill("60")
        expect(given).to_contain_text("of 60 tokens")

    def test_a_memory_says_which_flow_a_model_is_given(self, window: Window, client: Client) -> None:
        base = next(base for base in client.list_memory_bases(flow_id="harbour"))
        reader = window()
        reader.open(f"/playground?q=which+berth+has+shore+power&memory={base.id}")
        expect(reader.page.get_by_label("Flow", exact=True)).to_have_value("harbour")
        expect(reader.page.get_by_role("complementary", name="The model is given")).to_contain_text("of 600 tokens")


class TestQuota:
    def test_a_used_up_quota_is_said_once_with_the_way_to_it(self, window: Window, client: Client) -> None:
        key = client.create_key(name="few searches", scopes=["read"], quotas={"searches_per_minute": 0})
        reader = window(key=key.secret)
        reader.open(ASKED)
        refused = reader.page.get_by_role("alert")
        expect(refused).to_have_count(1)
        expect(refused).to_contain_text("The quota of searches a minute is used up: 0 for this key.")
        expect(refused).to_contain_text(re.compile(r"Try again in [\d.]+ s\."))
        expect(refused).not_to_contain_text("+00:00")
        given = reader.page.get_by_role("complementary", name="The model is given")
        expect(given).to_contain_text("Not asked: the quota is used up.")
        reader.open(f"{ASKED}&compare=1")
        expect(reader.page.get_by_role("alert")).to_have_count(1)
        reader.page.get_by_role("link", name="Quotas and what is used").click()
        expect(reader.page).to_have_url(re.compile("/settings/usage$"))


class TestCode:
    def test_the_copied_code_finds_the_same(self, window: Window) -> None:
        reader = window()
        reader.open(ASKED + "&w.words=1.5&min=0.1&fold=0")
        given = [
            text
            for text, weak in zip(
                reader.page.locator(".hit-text").all_text_contents(),
                (each.get_attribute("class") or "" for each in reader.page.locator("li.hit").all()),
                strict=True,
            )
            if "weak" not in weak
        ]
        assert given
        reader.page.get_by_role("button", name="Copy as code").click()
        dialog = reader.page.get_by_role("dialog", name="The same as code")
        texts = dict(
            zip(dialog.locator("summary").all_text_contents(), dialog.locator("code").all_text_contents(), strict=True)
        )
        assert texts.keys() == {"curl", "Python", "LangGraph", "MCP", "curl, for the model"}
        environment = os.environ | {"MEMORYBASE_API_KEY": KEY, "NO_PROXY": "*"}

        def output(*command: str) -> str:
            return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

        by_curl = output("bash", "-c", texts["curl"])
        by_python = output(sys.executable, "-c", texts["Python"])
        assert [result["content"] for result in json.loads(by_curl)["results"]] == given
        assert [line.partition(" ")[2] for line in by_python.splitlines()] == given
        view = json.loads(output("bash", "-c", texts["curl, for the model"]))
        dialog.get_by_role("button", name="Close").click()
        expect(reader.page.get_by_role("complementary", name="The model is given")).to_contain_text(
            f"{view['report']['tokens_after']} of 600 tokens"
        )


class TestLabels:
    def test_a_result_is_marked_and_the_mark_stays(self, window: Window, client: Client) -> None:
        reader = window()
        reader.open(ASKED)
        first = reader.page.locator("li.hit").first
        first.get_by_role("button", name="Right for this question").click()
        expect(first.get_by_role("button", name="Right for this question")).to_have_attribute("aria-pressed", "true")
        reader.page.reload()
        reader.settle()
        expect(first.get_by_role("button", name="Right for this question")).to_have_attribute("aria-pressed", "true")
        (label,) = client.list_labels(flow_id="harbour")
        assert (label.query, label.right) == (QUESTION, True)
        first.get_by_role("button", name="Right for this question").click()
        expect(first.get_by_role("button", name="Right for this question")).to_have_attribute("aria-pressed", "false")
        assert list(client.list_labels(flow_id="harbour")) == []

    def test_a_mark_in_a_shows_in_b_and_is_taken_away_there(self, window: Window, client: Client) -> None:
        reader = window()
        reader.open(f"{ASKED}&compare=1")
        a, b = (reader.page.get_by_role("region", name=f"Results of {side}") for side in "AB")
        in_a, in_b = (each.locator("li.hit").first.get_by_role("button", name="Wrong for this") for each in (a, b))
        in_a.click()
        expect(in_b).to_have_attribute("aria-pressed", "true")
        assert [label.right for label in client.list_labels(flow_id="harbour")] == [False]
        in_b.click()
        expect(in_a).to_have_attribute("aria-pressed", "false")
        assert list(client.list_labels(flow_id="harbour")) == []
        for side in (a, b):
            expect(side.locator(".verdict")).to_have_count(side.locator("li.hit").count())


class TestOldAddresses:
    def test_the_search_leads_here(self, window: Window, client: Client) -> None:
        reader = window()
        base = next(iter(client.list_memory_bases(flow_id="harbour")))
        reader.open(f"/memories/{base.id}/search?q=berth")
        assert f"/playground?q=berth&flow=harbour&memory={base.id}" in reader.page.url


@IN_EVERY_LOOK
def test_nothing_is_serious_to_axe_and_nothing_scrolls_sideways(window: Window, width: int, dark: bool) -> None:
    reader = window(width=width, dark=dark)
    for path in ("/playground", ASKED + "&session=s0", ASKED + "&compare=1&b.w.words=2"):
        reader.open(path)
        assert reader.findings() == []
        assert reader.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
