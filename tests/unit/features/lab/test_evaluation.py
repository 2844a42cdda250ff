"""Figures and fits of searches with known answers."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from harness.rows import each_row
from hypothesis import given
from hypothesis import strategies as st

from memorybase.core import errors
from memorybase.features.lab import tuning
from memorybase.features.lab.calibration import Scored, bands, best_scores, calibration_error, cuts
from memorybase.features.lab.fitting import Fit, JudgedCandidates, cross_validate, fit
from memorybase.features.lab.metrics import Judged, difference, judge, ndcg, recall, summarize, with_small_merged
from memorybase.features.lab.questions import Question, read_questions


class TestMetrics:
    def test_figures_by_hand(self) -> None:
        assert ndcg(["a", "b"], {"a"}) == 1
        assert ndcg(["b", "a"], {"a"}) == pytest.approx(1 / np.log2(3))
        assert ndcg(["x", "a", "b"], {"a", "b"}) == pytest.approx((1 / np.log2(3) + 0.5) / (1 + 1 / np.log2(3)))
        assert recall(["x", "a"], {"a", "b"}) == 0.5
        assert judge("fact", [], {"a"}) == Judged("fact", 0, 0, first=False)

    def test_only_the_first_ten_count(self) -> None:
        found = [str(number) for number in range(20)]
        assert ndcg(found, {"10"}) == recall(found, {"10"}) == 0

    @given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.sets(st.sampled_from("abcdefgh"), min_size=1))
    def test_figures_are_between_0_and_1(self, found: list[str], evidence: set[str]) -> None:
        assert 0 <= ndcg(found, evidence) <= 1 + 1e-9
        assert 0 <= recall(found, evidence) <= 1

    def test_the_macro_mean_weighs_categories_equally(self) -> None:
        judged = [judge("many", ["a"], {"a"})] * 9 + [judge("few", ["b"], {"a"})]
        found = summarize(judged)
        assert (found.macro_ndcg, found.whole.ndcg, found.whole.recall) == (0.5, 0.9, 0.9)
        assert found.macro_ndcg_interval == (0.5, 0.5)  # all questions of a category have the same figures
        assert found.recall_interval[0] <= 0.9 <= found.recall_interval[1]

    def test_an_interval_narrows_with_more_questions(self) -> None:
        few, many = ([judge("one", ["a"] if n % 2 else [], {"a"}) for n in range(count)] for count in (10, 1_000))
        widths = [high - low for low, high in (summarize(judged).macro_ndcg_interval for judged in (few, many))]
        assert widths[0] > 5 * widths[1]

    def test_a_paired_difference_has_a_narrower_interval(self) -> None:
        worse = [judge("one", ["x", "a"] if n % 2 else ["x"], {"a"}) for n in range(100)]
        better = [judge("one", ["a"] if n % 2 else ["x"], {"a"}) for n in range(100)]
        gained, (low, high) = difference(better, worse)
        assert low < gained < high
        assert low > 0

    def test_no_questions_are_an_error(self) -> None:
        with pytest.raises(ValueError, match="at least one question"):
            summarize([])


def lists(seed: int, count: int, weights: tuple[float, float, float], corpus: str = "one") -> list[JudgedCandidates]:
    """Questions with the answer at the candidate with the largest weighted sum plus noise."""
    drawn = np.random.default_rng(seed)
    asked = []
    for number in range(count):
        values = drawn.normal(size=(20, 3))
        best = int(np.argmax(values @ np.array(weights) + drawn.normal(scale=0.3, size=20)))
        names = [f"m{position}" for position in range(20)]
        asked.append(JudgedCandidates(corpus, f"g{number % 4}", "fact", frozenset({names[best]}), names, values))
    return asked


class TestFit:
    def test_a_fit_recovers_the_true_weights(self) -> None:
        found = fit(lists(1, 200, (2.0, -1.0, 0.0)))
        first, second, third = found.weights / found.weights[0]
        assert (first, second, third) == pytest.approx((1, -0.5, 0), abs=0.1)

    def test_scores_are_chances(self) -> None:
        asked = lists(2, 400, (2.0, 1.0, 0.0))
        found = fit(asked)
        chances = np.concatenate([found.chances(each) for each in asked])
        hits = np.concatenate([each.hits for each in asked])
        assert chances.mean() == pytest.approx(hits.mean(), rel=0.05)
        likely = chances > 0.5
        assert hits[likely].mean() == pytest.approx(chances[likely].mean(), abs=0.1)

    def test_each_group_is_ranked_by_weights_fitted_without_it(self) -> None:
        asked = lists(3, 80, (5.0, 0.0, 0.0))
        turned = [
            JudgedCandidates(each.corpus, each.group, each.category, each.evidence, each.found, -each.values)
            if each.group == "g0"
            else each
            for each in asked
        ]
        ranked = cross_validate(turned)
        firsts: dict[str, list[bool]] = {group: [] for group in ("g0", "g1", "g2", "g3")}
        for each, found in zip(turned, ranked, strict=True):
            firsts[each.group].append(found[0] in each.evidence)
        assert not any(firsts["g0"])
        assert all(np.mean(firsts[group]) > 0.5 for group in ("g1", "g2", "g3"))

    def test_a_corpus_weighs_by_its_share_not_its_size(self) -> None:
        asked = lists(4, 300, (1.0, 0.0, 0.0), "large") + lists(5, 30, (0.0, 1.0, 0.0), "small")
        one, other, _ = fit(asked, {"large": 0.02, "small": 0.98}).weights
        assert other > 2 * one
        one, other, _ = fit(asked, {"large": 0.98, "small": 0.02}).weights
        assert one > 2 * other

    def test_questions_without_evidence_among_candidates_are_an_error(self) -> None:
        nowhere = JudgedCandidates("one", "g", "fact", frozenset({"z"}), ["a"], np.zeros((1, 3)))
        with pytest.raises(ValueError, match="evidence among the candidates"):
            fit([nowhere])


class TestQuestions:
    def test_every_field(self) -> None:
        full = {
            "question": "who?",
            "evidence": ["m1", "m2", "m1"],
            "category": "fact",
            "session_id": "s",
            "end_user_id": "ada",
        }
        text = json.dumps(full) + '\r\n\n{"question": "none?\u2028", "evidence": [], "category": null}\n'
        assert read_questions(text) == [
            Question(1, "who?", ("m1", "m2"), "fact", "s", "ada"),
            Question(3, "none?\u2028", (), "uncategorized"),
        ]

    @each_row(
        ("line", "said"),
        [
            ("who?", 'it must be a JSON object (got "who?")'),
            ("[]", "it must be a JSON object (got [])"),
            ("[" * 100_000, f'it must be a JSON object (got "{"[" * 36}...)'),
            ('{"evidence": []}', "question must be a non-empty string (got null)"),
            ('{"question": " ", "evidence": []}', 'question must be a non-empty string (got " ")'),
            (
                json.dumps({"question": "x" * 8001, "evidence": []}),
                "question must have at most 8000 characters (got 8001)",
            ),
            ('{"question": "\\ud800", "evidence": []}', "question: Text must not contain a lone surrogate"),
            ('{"question": "q", "evidence": ["\\u0000"]}', "evidence: Text must not contain a NUL character"),
            ('{"question": "q"}', "evidence is missing"),
            ('{"question": "q", "evidence": "m1"}', 'evidence must be a list of message ids (got "m1")'),
            ('{"question": "q", "evidence": [7]}', "evidence must be message ids of 1 to 128 characters (got 7)"),
            ('{"question": "q", "evidence": [""]}', "evidence must be message ids of 1 to 128 characters"),
            (
                json.dumps({"question": "q", "evidence": ["m"] * 101}),
                "evidence must have at most 100 message ids (got 101)",
            ),
            ('{"question": "q", "evidence": [], "category": 3}', "category must be a non-empty string (got 3)"),
            ('{"question": "q", "evidence": [], "session_id": ""}', 'session_id must be a non-empty string (got "")'),
            (
                '{"question": "q", "evidence": [], "answer": "a"}',
                '"answer" is an unknown field; the fields are question,',
            ),
        ],
    )
    def test_a_problem_names_line_field_value_and_bound(self, line: str, said: str) -> None:
        with pytest.raises(errors.InvalidRequest) as caught:
            read_questions(f'{{"question": "q", "evidence": []}}\n{line}')
        assert f"The questions have a problem: line 2: {said}" in caught.value.message

    def test_the_first_few_problems_are_named_at_once(self) -> None:
        with pytest.raises(errors.InvalidRequest) as caught:
            read_questions("no\n" * 7)
        assert caught.value.message.startswith("The questions have 7 problems: line 1: ")
        assert caught.value.message.endswith('line 5: it must be a JSON object (got "no"); and 2 more')

    def test_a_file_without_questions(self) -> None:
        with pytest.raises(errors.InvalidRequest, match=r"1 to 10000 questions \(got 0\)"):
            read_questions("\n \n")

    @given(st.text())
    def test_any_text_is_parsed_or_rejected(self, text: str) -> None:
        with contextlib.suppress(errors.InvalidRequest):
            read_questions(text)


class TestCalibration:
    SCORED = (
        Scored(frozenset({"a"}), [("a", 0.9), ("b", 0.2), ("c", 0.05)]),
        Scored(frozenset({"a"}), [("b", 0.6), ("a", 0.1)]),
        Scored(frozenset(), [("x", 0.15)]),
        Scored(frozenset(), []),
    )

    def test_each_result_is_in_one_band(self) -> None:
        found = {(band.low, band.high): (band.results, band.right) for band in bands(self.SCORED)}
        assert found == {(0, 0.1): (1, 0), (0.1, 0.3): (3, 1), (0.3, 0.5): (0, 0), (0.5, 0.7): (1, 0), (0.7, 1): (1, 1)}
        assert bands([Scored(frozenset(), [("a", 1.0)])])[-1].results == 1

    def test_best_scores(self) -> None:
        found = best_scores(self.SCORED[:2])
        assert found is not None
        assert (found.questions, found.p50) == (2, pytest.approx(0.75))
        assert best_scores([]) is None

    def test_a_min_score_has_false_alarms_and_misses(self) -> None:
        found = {cut.min_score: (cut.false_alarms, cut.missed) for cut in cuts(self.SCORED)}
        assert found == {0: (0.5, 0), 0.05: (0.5, 0), 0.1: (0.5, 0), 0.2: (0, 0.5), 0.3: (0, 0.5)}
        assert {(cut.false_alarms, cut.missed) for cut in cuts([])} == {(None, None)}

    def test_scores_that_are_chances_have_no_calibration_error(self) -> None:
        right = [Scored(frozenset({"a"} if n < 8 else ()), [("a", 0.8)]) for n in range(10)]
        assert calibration_error(right) == pytest.approx(0)
        assert calibration_error([Scored(frozenset(), [("a", 0.8)])]) == pytest.approx(0.8)
        assert calibration_error([]) == 0


class TestFewQuestions:
    DEFAULT = Fit(np.array([2.0, -1.0, 0.5]), -4.0)

    def test_a_strong_prior_is_kept(self) -> None:
        found = fit(lists(6, 40, (0.0, 3.0, 0.0)), penalty=1e6, prior=self.DEFAULT)
        assert found.weights / found.weights[0] == pytest.approx(
            self.DEFAULT.weights / self.DEFAULT.weights[0], abs=1e-3
        )

    def test_a_weak_prior_is_overruled(self) -> None:
        found = fit(lists(6, 200, (0.0, 3.0, 0.0)), penalty=1e-4, prior=self.DEFAULT)
        assert abs(found.weights[0]) < 0.2 * found.weights[1]

    def test_few_questions_do_not_move_a_fitting_bias_far(self) -> None:
        default = fit(lists(7, 2_000, (2.0, 1.0, 0.0)))
        found = fit(lists(8, 20, (2.0, 1.0, 0.0)), penalty=3.0, prior=default)
        assert found.bias == pytest.approx(default.bias, rel=0.3)
        assert found.weights == pytest.approx(default.weights, rel=0.4, abs=0.5)

    def test_an_uncalibrated_fit_ranks_alike(self) -> None:
        asked = lists(9, 40, (2.0, 1.0, 0.0))
        one, other = (fit(asked, prior=self.DEFAULT, calibrated=calibrated) for calibrated in (True, False))
        assert [one.ranked(each) for each in asked] == [other.ranked(each) for each in asked]

    def test_tuning_improves_wrong_weights(self) -> None:
        asked = lists(10, 60, (0.0, 3.0, 0.0))
        tuned = tuning.tune(asked, self.DEFAULT)
        gained, (low, _) = difference(judged(asked, tuned.left_out), judged(asked, by_default(asked, self.DEFAULT)))
        assert gained > low > 0.2
        assert tuned.strength < 1

    def test_tuning_keeps_right_weights(self) -> None:
        asked = lists(11, 60, (2.0, -1.0, 0.5))
        tuned = tuning.tune(asked, self.DEFAULT)
        gained, (low, _) = difference(judged(asked, tuned.left_out), judged(asked, by_default(asked, self.DEFAULT)))
        assert low <= 0
        assert abs(gained) < 0.05
        assert tuned.strength == tuning.STRENGTHS[0]

    def test_unanswerable_questions_only_affect_the_calibration(self) -> None:
        asked = lists(12, 40, (2.0, -1.0, 0.5))
        empty = [replace(each, evidence=frozenset()) for each in lists(13, 40, (2.0, -1.0, 0.5))]
        with_them = tuning.tune([*asked, *empty], self.DEFAULT)
        assert len(with_them.left_out) == 80
        without = tuning.tune(asked, self.DEFAULT)
        best = [np.mean([tuning.scored(each, by.fit).best for each in empty]) for by in (with_them, without)]
        assert best[0] < best[1]

    def test_groups_stay_together_if_possible(self) -> None:
        groups = {f"q{n}": f"s{n % 7}" for n in range(35)}
        parts, together = tuning.split(groups)
        assert together
        assert {len({parts[q] for q in groups if groups[q] == s}) for s in set(groups.values())} == {1}
        assert set(parts.values()) == set(range(5))

    @each_row("sessions", [["s"] * 30, [f"s{max(0, n - 20)}" for n in range(30)]])
    def test_questions_of_few_sessions_are_split_individually(self, sessions: list[str]) -> None:
        parts, together = tuning.split({f"q{n}": session for n, session in enumerate(sessions)})
        assert not together
        assert Counter(parts.values()) == dict.fromkeys(range(5), 6)

    def test_small_categories_become_one(self) -> None:
        def names(*sizes: int) -> dict[str, int]:
            rows = [Judged(f"c{n}", 1, 1, first=True) for n, size in enumerate(sizes) for _ in range(size)]
            return dict(Counter(each.category for each in with_small_merged(rows)))

        assert names(10, 3, 2) == {"c0": 10, "others": 5}
        assert names(10, 6, 1) == {"c0": 10, "others": 7}
        assert names(3) == {"c0": 3}
        assert names(9, 8) == {"c0": 9, "c1": 8}


def by_default(asked: list[JudgedCandidates], default: Fit) -> list[Scored]:
    return [tuning.scored(each, default) for each in asked]


def judged(asked: list[JudgedCandidates], found: list[Scored]) -> list[Judged]:
    return [
        judge(each.category, [name for name, _ in scored.results], each.evidence)
        for each, scored in zip(asked, found, strict=True)
    ]


def test_a_signal_that_differs_only_by_rounding_is_constant() -> None:
    asked = lists(6, 60, (2.0, -1.0, 0.0))
    for number, each in enumerate(asked):
        each.values[:, 2] = 0.5 + 1e-16 * (number % 3)
    first, second, third = fit(asked).weights
    assert (second / first, third) == pytest.approx((-0.5, 0), abs=0.15)
