"""Quantizes an fp32 export to int8: products with weights use integers, with one scale per token.

ONNX Runtime's dynamic quantization has one scale per batch, so a text's vector depends on the other texts of the batch,
and one outlier token costs all others precision. One scale per token costs a few percent of speed and avoids both:
integers add up to the same sum in any order and on any processor.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorybase.core.embedding.exported import MANIFEST_FILE, MODEL_FILE, TOKENIZER_FILE, write_model
from memorybase.core.embedding.token_vectors import PROJECTION_FILE

ACTIVATION_LEVELS = 127
# Seven bits, not eight: processors without VNNI add two products in 16 bits, where eight would overflow silently.
WEIGHT_LEVELS = 63
ZERO_POINT = 128  # the fast kernels need unsigned activations
TINY = 1e-12  # so that a token of zeros has a scale
RUNTIME_DOMAIN = "com.microsoft"  # operators that only ONNX Runtime has


def quantize_model(exported: Path, folder: Path) -> None:
    """Write the int8 form of the exported model into the folder."""
    import onnx

    model = onnx.load(exported / MODEL_FILE)
    _quantize(model)
    write_model(model, folder)
    for name in (TOKENIZER_FILE, MANIFEST_FILE, PROJECTION_FILE):
        shutil.copyfile(exported / name, folder / name)


def _quantize(model: Any) -> None:
    from onnx import helper, numpy_helper

    graph = model.graph
    weights = {initializer.name: initializer for initializer in graph.initializer}
    constants = dict(_shared_constants())
    quantized: set[str] = set()  # inputs: query, key and value share one
    nodes: list[Any] = []
    for node in graph.node:
        if node.op_type != "MatMul" or node.input[1] not in weights:
            nodes.append(node)
            continue
        data, name = node.input
        weight = numpy_helper.to_array(weights[name])
        if data not in quantized:
            quantized.add(data)
            constants[f"{data}/2d"] = np.array([-1, weight.shape[0]], dtype=np.int64)
            nodes.extend(_quantize_tokens(data))
        constants |= _quantized_weight(name, weight)
        nodes.extend(_product(data, name, node.output[0]))
    _replace(graph.node, nodes)
    used = {name for node in nodes for name in node.input}
    new_constants = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    _replace(
        graph.initializer,
        [initializer for initializer in [*graph.initializer, *new_constants] if initializer.name in used],
    )
    model.opset_import.append(helper.make_opsetid(RUNTIME_DOMAIN, 1))


def _shared_constants() -> Iterator[tuple[str, NDArray[Any]]]:
    yield "int8/level", np.array(1 / ACTIVATION_LEVELS, dtype=np.float32)
    yield "int8/one", np.array(1, dtype=np.float32)
    yield "int8/tiny", np.array(TINY, dtype=np.float32)
    yield "int8/zero_point", np.array(ZERO_POINT, dtype=np.uint8)
    yield "int8/first", np.array([0], dtype=np.int64)
    yield "int8/last", np.array([-1], dtype=np.int64)


def _quantized_weight(name: str, weight: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
    """The weight as integers, and the scale of each column."""
    scale = np.maximum(np.abs(weight).max(axis=0), TINY) / WEIGHT_LEVELS
    return {
        f"{name}/int8": np.rint(weight / scale).astype(np.int8),
        f"{name}/scale": scale.astype(np.float32),
        f"{name}/width": np.array([weight.shape[1]], dtype=np.int64),
    }


def _quantize_tokens(data: str) -> Iterator[Any]:
    """One row per token, divided by its largest absolute value."""
    from onnx import TensorProto, helper

    zero_point = helper.make_tensor("zero_point", TensorProto.UINT8, [1], [ZERO_POINT])
    for operator, inputs, output, attributes in (
        ("Shape", [data], "shape", {}),
        ("Slice", [f"{data}/shape", "int8/first", "int8/last"], "lead", {}),
        ("Reshape", [data, f"{data}/2d"], "rows", {}),
        ("ReduceMax", [f"{data}/rows"], "most", {"axes": [1], "keepdims": 1}),
        ("ReduceMin", [f"{data}/rows"], "least", {"axes": [1], "keepdims": 1}),
        ("Neg", [f"{data}/least"], "below", {}),
        ("Max", [f"{data}/most", f"{data}/below", "int8/tiny"], "largest", {}),
        ("Mul", [f"{data}/largest", "int8/level"], "scales", {}),
        ("Reshape", [f"{data}/scales", "int8/last"], "scale", {}),
        ("Shape", [f"{data}/scale"], "count", {}),
        ("ConstantOfShape", [f"{data}/count"], "zero_points", {"value": zero_point}),
        ("QuantizeLinear", [f"{data}/rows", f"{data}/scale", f"{data}/zero_points"], "int8", {"axis": 0}),
    ):
        yield helper.make_node(operator, inputs, [f"{data}/{output}"], **attributes)


def _product(data: str, weight: str, output: str) -> Iterator[Any]:
    """The integer product of rows and weight, scaled back to the original shape."""
    from onnx import helper

    factors = [f"{data}/int8", f"{weight}/int8", "int8/one", f"{weight}/scale", "int8/zero_point"]
    yield helper.make_node("MatMulIntegerToFloat", factors, [f"{output}/columns"], domain=RUNTIME_DOMAIN)
    yield helper.make_node("Mul", [f"{output}/columns", f"{data}/scales"], [f"{output}/scaled"])
    yield helper.make_node("Concat", [f"{data}/lead", f"{weight}/width"], [f"{output}/shape"], axis=0)
    yield helper.make_node("Reshape", [f"{output}/scaled", f"{output}/shape"], [output])


def _replace(repeated: Any, values: list[Any]) -> None:
    """Replace the contents of a protocol buffer's list."""
    kept = [type(value).FromString(value.SerializeToString()) for value in values]
    del repeated[:]
    repeated.extend(kept)
