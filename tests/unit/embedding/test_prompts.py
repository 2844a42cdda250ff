"""The effect of a passage prompt on an embedder's identity."""

from __future__ import annotations

from harness.rows import each_row

from memorybase.core.embedding.prompts import Prompts, without_passage_prompt


@each_row("model", ["onnx-fp32/all-MiniLM-L6-v2/12345678", "onnx-fp32/owner/model/12345678"])
def test_a_custom_prompt_is_a_suffix_of_model_and_revision(model: str) -> None:
    suffix = Prompts(passage="passage: ").suffix(Prompts())
    assert suffix
    assert without_passage_prompt(model + suffix) == without_passage_prompt(model) == model


def test_the_models_own_prompt_adds_nothing() -> None:
    assert Prompts(passage="passage: ").suffix(Prompts(passage="passage: ")) == ""
