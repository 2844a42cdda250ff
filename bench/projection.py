"""Fits the default model's projection of token vectors on messages of the generated conversations in bench/.

    python bench/projection.py [--data-dir DIR]

It writes calibration.txt (the beginnings of those messages) and all-MiniLM-L6-v2.projection.npz into
memorybase/core/embedding. Existing memory bases must then be regenerated, so run it only if the calibration text has to
change.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

import made

from memorybase.core.embedding import token_vectors
from memorybase.core.embedding.onnx import OnnxEmbedder
from memorybase.core.embedding.registry import load
from memorybase.core.embedding.token_vectors import Projection
from memorybase.core.settings import Settings

CHARS = 260  # per message: 15,000 tokens in total


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data-dir", type=Path, help="the directory with the exported model")
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
