"""Figures and fits of searches whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybase.evaluation import Asked, cross_validate, fit
from memorybase.evaluation.metrics import Judged, difference, judge, ndcg, recall, summarize


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
    def test_they_stay_between_none_and_all(self, found: list[str], evidence: set[str]) -> None:
        assert 0 <= ndcg(found, evidence) <= 1 + 1e-9
        assert 0 <= recall(found, evidence) <= 1

    def test_the_macro_mean_counts_each_category_alike(self) -> None:
        judged = [judge("many", ["a"], {"a"})] * 9 + [judge("few", ["b"], {"a"})]
        found = summarize(judged)
        assert (found.macro_ndcg, found.whole.ndcg, found.whole.recall) == (0.5, 0.9, 0.9)
        assert found.macro_ndcg_interval == (0.5, 0.5)  # no question of either kind differs from the others
        assert found.recall_interval[0] <= 0.9 <= found.recall_interval[1]

    def test_an_interval_narrows_with_more_questions(self) -> None:
        few, many = ([judge("one", ["a"] if n % 2 else [], {"a"}) for n in range(count)] for count in (10, 1_000))
        widths = [high - low for low, high in (summarize(judged).macro_ndcg_interval for judged in (few, many))]
        assert widths[0] > 5 * widths[1]

    def test_a_paired_difference_is_surer_than_two_means(self) -> None:
        worse = [judge("one", ["x", "a"] if n % 2 else ["x"], {"a"}) for n in range(100)]
        better = [judge("one", ["a"] if n % 2 else ["x"], {"a"}) for n in range(100)]
        gained, (low, high) = difference(better, worse)
        assert low < gained < high
        assert low > 0

    def test_no_question_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="at least one question"):
            summarize([])


def lists(seed: int, count: int, weights: tuple[float, float, float], corpus: str = "one") -> list[Asked]:
    """Questions of which the candidate with the largest weighted sum, and some noise, is the answer."""
    drawn = np.random.default_rng(seed)
    asked = []
    for number in range(count):
        values = drawn.normal(size=(20, 3))
        best = int(np.argmax(values @ np.array(weights) + drawn.normal(scale=0.3, size=20)))
        names = [f"m{place}" for place in range(20)]
        asked.append(Asked(corpus, f"g{number % 4}", "fact", frozenset({names[best]}), names, values))
    return asked


class TestFit:
    def test_it_finds_the_weights_that_made_the_answers(self) -> None:
        found = fit(lists(1, 200, (2.0, -1.0, 0.0)))
        first, second, third = found.weights / found.weights[0]
        assert (first, second, third) == pytest.approx((1, -0.5, 0), abs=0.1)

    def test_scores_are_chances(self) -> None:
        asked = lists(2, 400, (2.0, 1.0, 0.0))
        found = fit(asked)
        chances = np.concatenate([1 / (1 + np.exp(-(each.values @ found.weights + found.bias))) for each in asked])
        hits = np.concatenate([each.hits for each in asked])
        assert chances.mean() == pytest.approx(hits.mean(), rel=0.05)
        likely = chances > 0.5
        assert hits[likely].mean() == pytest.approx(chances[likely].mean(), abs=0.1)

    def test_a_group_is_ranked_by_weights_that_have_not_seen_it(self) -> None:
        asked = lists(3, 80, (5.0, 0.0, 0.0))
        turned = [
            Asked(each.corpus, each.group, each.category, each.evidence, each.found, -each.values)
            if each.group == "g0" else each
            for each in asked
        ]  # fmt: skip
        ranked = cross_validate(turned)
        firsts: dict[str, list[bool]] = {group: [] for group in ("g0", "g1", "g2", "g3")}
        for each, found in zip(turned, ranked, strict=True):
            firsts[each.group].append(found[0] in each.evidence)
        assert not any(firsts["g0"])
        assert all(np.mean(firsts[group]) > 0.5 for group in ("g1", "g2", "g3"))

    def test_a_corpus_counts_by_its_share_and_not_by_its_size(self) -> None:
        asked = lists(4, 300, (1.0, 0.0, 0.0), "large") + lists(5, 30, (0.0, 1.0, 0.0), "small")
        one, other, _ = fit(asked, {"large": 0.02, "small": 0.98}).weights
        assert other > 2 * one
        one, other, _ = fit(asked, {"large": 0.98, "small": 0.02}).weights
        assert one > 2 * other

    def test_nothing_to_learn_from_is_an_error(self) -> None:
        nowhere = Asked("one", "g", "fact", frozenset({"z"}), ["a"], np.zeros((1, 3)))
        with pytest.raises(ValueError, match="evidence among the candidates"):
            fit([nowhere])
