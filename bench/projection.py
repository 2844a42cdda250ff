"""Fits how the default model's token vectors are made, on messages of the made conversations of this folder.

    python bench/projection.py [--data-dir DIR]

Writes memorybase/embedding/calibration.txt (the beginnings of those messages) and all-MiniLM-L6-v2.projection.npz.
Memory bases that were filled before must then be regenerated: run it only when the calibration text has to change.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

import made

from memorybase.embedding import token_vectors
from memorybase.embedding.onnx import OnnxEmbedder
from memorybase.embedding.registry import load
from memorybase.embedding.token_vectors import Projection
from memorybase.settings import Settings

CHARS = 260  # of a message: 15,000 tokens in all


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data-dir", type=Path, help="where an exported model is kept")
    chosen = arguments.parse_args()
    texts = [" ".join(message["content"].split())[:CHARS] for each in made.by_hand() for message in each["messages"]]
    random.Random(1).shuffle(texts)
    token_vectors.CALIBRATION_FILE.write_text("\n".join(texts) + "\n", encoding="utf-8")
    with tempfile.TemporaryDirectory() as directory:
        embedder = load(Settings(data_dir=chosen.data_dir or Path(directory)), "all-MiniLM-L6-v2")
        assert isinstance(embedder, OnnxEmbedder)
        states = embedder.token_states(token_vectors.calibration_texts())
    projection = Projection.fitted(states)
    projection.write(token_vectors.DEFAULT_PROJECTION, published=True)
    print(f"{len(states)} tokens, {token_vectors.DEFAULT_PROJECTION.stat().st_size} bytes")
    print(Projection.read(token_vectors.DEFAULT_PROJECTION).encoding)


if __name__ == "__main__":
    main()
