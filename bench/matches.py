"""Shows which token of a message matches each token of a question in late interaction.

python bench/matches.py QUESTION MESSAGE [--plot FILE] [--data-dir DIR]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from memorybase.core.embedding.registry import load
from memorybase.core.settings import Settings


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("question")
    arguments.add_argument("message")
    arguments.add_argument("--plot", type=Path, help="needs matplotlib")
    arguments.add_argument("--data-dir", type=Path, help="the directory with the exported model")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        embedder = load(Settings(data_dir=chosen.data_dir or Path(directory)), "all-MiniLM-L6-v2")
        _, question = embedder.embed_query_with_tokens(chosen.question, chosen.question)
        _, message = embedder.embed_query_with_tokens(chosen.message, chosen.message)
    rows = [chosen.question[start:end] for start, end in question.spans]
    columns = [chosen.message[start:end] for start, end in message.spans]
    cosines = question.vectors @ message.vectors.T
    for row, values in zip(rows, cosines, strict=True):
        best = int(values.argmax())
        print(f"{row:14} {columns[best]:14} {values[best]:.2f}")
    if chosen.plot:
        from matplotlib import pyplot as plt

        figure, axes = plt.subplots(figsize=(0.62 * len(columns) + 2.2, 0.45 * len(rows) + 1.4), layout="constrained")
        axes.imshow(cosines, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        axes.set_xticks(range(len(columns)), columns, rotation=40, ha="right")
        axes.set_yticks(range(len(rows)), rows)
        for row, values in enumerate(cosines):
            best = int(values.argmax())
            axes.text(
                best,
                row,
                f"{values[best]:.2f}",
                ha="center",
                va="center",
                color="white" if values[best] > 0.55 else "black",
            )
        axes.set_xlabel("tokens of the message")
        axes.set_ylabel("tokens of the question")
        figure.savefig(chosen.plot, dpi=110)


if __name__ == "__main__":
    main()
