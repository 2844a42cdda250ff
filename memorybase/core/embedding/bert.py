"""The ONNX graph of a BERT model (Devlin et al., 2019), built from its weights with onnx and numpy alone.

MiniLM, bge, e5 and gte are such models. The operators and their order are those that ONNX Runtime fuses.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorybase.core.embedding.exported import TOKENIZER_FILE, Manifest, write_model
from memorybase.core.embedding.onnx import STATES, VECTORS
from memorybase.core.errors import ModelUnavailable

OPSET = 17  # the first one with LayerNormalization
SOURCE_FILE = "model.safetensors"
HIDDEN = -1e9  # added to the attention to padding
POOLINGS = {"cls", "mean"}
Floats = NDArray[np.float32]


class OtherArchitecture(ModelUnavailable):
    """The model is no BERT in sentence-transformers' plain layout; the message says what is different."""


@dataclass(frozen=True, slots=True)
class Config:
    """The fields of a BERT model's config.json that its graph depends on."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    max_position_embeddings: int
    layer_norm_eps: float = 1e-12
    pad_token_id: int = 0


def build(source: Path, folder: Path) -> Manifest:
    """Write the graph of the model in `source` as model.onnx of `folder`; raises OtherArchitecture."""
    config, pooling = _config(source), _pooling(source)
    stated = _read(source / "sentence_bert_config.json").get("max_seq_length")
    stated = stated or _read(source / "tokenizer_config.json").get("model_max_length", config.max_position_embeddings)
    manifest = Manifest(
        dimension=config.hidden_size,
        max_seq_length=min(int(stated), config.max_position_embeddings),
        pad_id=config.pad_token_id,
    )
    try:
        graph = _Graph(config, _weights(source)).model(pooling)
    except KeyError as error:
        raise OtherArchitecture(f"its weights lack {error}") from error
    write_model(graph, folder)
    return manifest


def _config(source: Path) -> Config:
    stated = _read(source / "config.json")
    expected = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "position_embedding_type": "absolute",
        "is_decoder": False,
        "add_cross_attention": False,
    }
    for name, value in expected.items():
        if (found := stated.get(name, None if name == "model_type" else value)) != value:
            raise OtherArchitecture(f"its {name} is {found}, not {value}")
    if _read(source / "sentence_bert_config.json").get("do_lower_case"):
        raise OtherArchitecture("its do_lower_case is true, not false")
    if not (source / TOKENIZER_FILE).is_file():
        raise OtherArchitecture(f"it has no {TOKENIZER_FILE}")
    names = {field.name for field in fields(Config)}
    try:
        return Config(**{name: value for name, value in stated.items() if name in names})
    except TypeError as error:
        raise OtherArchitecture(f"its config.json lacks {', '.join(sorted(names - stated.keys()))}") from error


def _pooling(source: Path) -> str:
    """The pooling that the model's modules name: mean or cls."""
    modules: list[dict[str, str]] = _read(source / "modules.json", [])
    kinds = [module["type"].rpartition(".")[2] for module in modules]
    if kinds[:2] != ["Transformer", "Pooling"] or set(kinds[2:]) - {"Normalize"} or modules[0]["path"]:
        raise OtherArchitecture(f"its modules are {', '.join(kinds) or 'not stated'}")
    stated = _read(source / modules[1]["path"] / "config.json")
    # Earlier versions wrote a flag for each pooling: pooling_mode_mean_tokens.
    flags = [name for name, value in sorted(stated.items()) if name.startswith("pooling_mode_") and value]
    modes = stated.get("pooling_mode") or [re.sub("pooling_mode_|_tokens?$", "", flag) for flag in flags] or "mean"
    pooling = modes if isinstance(modes, str) else " and ".join(modes)
    if pooling not in POOLINGS:
        raise OtherArchitecture(f"its pooling is {pooling}")
    if stated.get("include_prompt") is False:
        raise OtherArchitecture("its pooling leaves out the prompt")
    return pooling


def _read(path: Path, default: Any = None) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {} if default is None else default
    except ValueError as error:
        raise ModelUnavailable(f"{path} must be valid JSON ({error})") from error


def _weights(source: Path) -> dict[str, Floats]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    path = source / SOURCE_FILE
    if not path.is_file():
        raise OtherArchitecture(f"it has no {SOURCE_FILE}")
    try:
        stored = load_file(path)
    except SafetensorError as error:
        raise ModelUnavailable(f"{path} must be a file of weights ({error})") from error
    except KeyError as error:  # such as bfloat16
        raise OtherArchitecture(f"its weights are of the type {error}, which numpy lacks") from error
    return {name.removeprefix("bert."): value.astype(np.float32, copy=False) for name, value in stored.items()}


class _Graph:
    """Nodes and constants of the graph; each method adds nodes and returns the name of their result."""

    def __init__(self, config: Config, weights: dict[str, Floats]) -> None:
        self._config = config
        self._weights = weights
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def model(self, pooling: str) -> Any:
        """The whole model: token ids and mask to vectors of length 1, and to the states of the tokens."""
        from onnx import TensorProto, helper

        states = self._embedded()
        bias = self._attention_bias()
        for layer in range(self._config.num_hidden_layers):
            states = self._layer(states, bias, f"encoder.layer.{layer}")
        self._add("Identity", [states], output=STATES)
        self._normalized(self._mean(states) if pooling == "mean" else self._first(states))
        ids, floats = TensorProto.INT64, TensorProto.FLOAT
        size = self._config.hidden_size
        shapes: dict[str, tuple[int, list[str | int]]] = {
            "input_ids": (ids, ["batch", "tokens"]),
            "attention_mask": (ids, ["batch", "tokens"]),
            VECTORS: (floats, ["batch", size]),
            STATES: (floats, ["batch", "tokens", size]),
        }
        values = [helper.make_tensor_value_info(name, *shape) for name, shape in shapes.items()]
        graph = helper.make_graph(self._nodes, "bert", values[:2], values[2:], self._constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)

    def _embedded(self) -> str:
        """Words, positions and the type of the only segment."""
        words = self._add("Gather", [self._weight("embeddings.word_embeddings.weight"), "input_ids"])
        places = self._weights["embeddings.position_embeddings.weight"]
        places = places + self._weights["embeddings.token_type_embeddings.weight"][0]
        width = self._add("Slice", [self._add("Shape", ["input_ids"]), *self._integers([1], [2])])
        places_read = self._add("Slice", [self._constant(places), *self._integers([0]), width])
        return self._layer_norm(self._add("Add", [words, places_read]), "embeddings.LayerNorm")

    def _attention_bias(self) -> str:
        """Zero for tokens and HIDDEN for padding, as (batch, 1, 1, tokens)."""
        mask = self._add("Cast", [self._add("Unsqueeze", ["attention_mask", *self._integers([1, 2])])], to=1)
        return self._add("Mul", [self._add("Sub", [self._number(1), mask]), self._number(HIDDEN)])

    def _layer(self, states: str, bias: str, layer: str) -> str:
        attended = self._dense(self._attention(states, bias, layer), f"{layer}.attention.output.dense")
        states = self._layer_norm(self._add("Add", [attended, states]), f"{layer}.attention.output.LayerNorm")
        inner = self._gelu(self._dense(states, f"{layer}.intermediate.dense"))
        outer = self._dense(inner, f"{layer}.output.dense")
        return self._layer_norm(self._add("Add", [outer, states]), f"{layer}.output.LayerNorm")

    def _attention(self, states: str, bias: str, layer: str) -> str:
        heads = self._config.num_attention_heads
        size = self._config.hidden_size // heads
        split = self._integers([0, 0, heads, size])

        def of_heads(kind: str, order: list[int], scale: float = 1.0) -> str:
            columns = self._dense(states, f"{layer}.attention.self.{kind}", scale)
            return self._add("Transpose", [self._add("Reshape", [columns, *split])], perm=order)

        # The scale of the products is in the query's weights.
        query = of_heads("query", [0, 2, 1, 3], 1 / math.sqrt(size))
        products = self._add("MatMul", [query, of_heads("key", [0, 2, 3, 1])])
        shares = self._add("Softmax", [self._add("Add", [products, bias])], axis=-1)
        found = self._add("MatMul", [shares, of_heads("value", [0, 2, 1, 3])])
        joined = self._add("Transpose", [found], perm=[0, 2, 1, 3])
        return self._add("Reshape", [joined, *self._integers([0, 0, heads * size])])

    def _dense(self, data: str, name: str, scale: float = 1.0) -> str:
        weight, bias = (self._weights[f"{name}.{part}"] * np.float32(scale) for part in ("weight", "bias"))
        product = self._add("MatMul", [data, self._constant(np.ascontiguousarray(weight.T), f"{name}.weight")])
        return self._add("Add", [product, self._constant(bias)])

    def _gelu(self, data: str) -> str:
        curve = self._add("Erf", [self._add("Div", [data, self._number(math.sqrt(2))])])
        return self._add(
            "Mul", [self._add("Mul", [data, self._add("Add", [curve, self._number(1)])]), self._number(0.5)]
        )

    def _layer_norm(self, data: str, name: str) -> str:
        weights = [self._weight(f"{name}.weight"), self._weight(f"{name}.bias")]
        return self._add("LayerNormalization", [data, *weights], epsilon=self._config.layer_norm_eps, axis=-1)

    def _mean(self, states: str) -> str:
        mask = self._add("Cast", [self._add("Unsqueeze", ["attention_mask", *self._integers([2])])], to=1)
        total = self._add("ReduceSum", [self._add("Mul", [states, mask]), *self._integers([1])], keepdims=0)
        return self._add("Div", [total, self._add("ReduceSum", [mask, *self._integers([1])], keepdims=0)])

    def _first(self, states: str) -> str:
        return self._add("Gather", [states, self._constant(np.array(0))], axis=1)

    def _normalized(self, vectors: str) -> str:
        length = self._add("ReduceL2", [vectors], axes=[1], keepdims=1)
        return self._add("Div", [vectors, length], output=VECTORS)

    def _weight(self, name: str) -> str:
        return self._constant(self._weights[name], name)

    def _number(self, value: float) -> str:
        return self._constant(np.array(value, dtype=np.float32))

    def _integers(self, *values: list[int]) -> list[str]:
        return [self._constant(np.array(value, dtype=np.int64)) for value in values]

    def _constant(self, value: NDArray[Any], name: str = "") -> str:
        from onnx import numpy_helper

        name = name or f"constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(value, name))
        return name

    def _add(self, operator: str, inputs: list[str], *, output: str = "", **attributes: Any) -> str:
        from onnx import helper

        output = output or f"{operator}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output
