"""Measures what the redaction of secrets finds, what it takes for a secret by mistake, and what it costs.

    python bench/redaction.py [--half testing] [--seeds 11 12 13] [--verbose]

Each seed makes 400 texts with a secret of 40 kinds and 2,000 texts that only look so (bench/made/keys.py). A secret is
found if neither its first nor its last eight characters are left; a look-alike is a mistake if its text changes. The
cost is processor time for each kilobyte of ordinary text.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from typing import Any

from made import keys

from memorybase.features.secret_redaction import finder

END = 8  # characters at either end of a secret, none of which may be left


def redacted(text: str) -> Any:
    return finder.replace(text, "content", lambda kind, *_: f"{finder.MARK}{kind} 0]")


def is_found(made: keys.MadeSecret) -> bool:
    left = redacted(made.text)
    return made.secret[:END] not in left and made.secret[-END:] not in left


def measure(seed: int, half: str, *, verbose: bool = False) -> tuple[Counter[str], Counter[str], int, int]:
    """By kind the secrets that were missed and the look-alikes that were changed, and how many there were."""
    made, alike = keys.secrets_of(seed, half=half), keys.look_alikes(seed)
    missed = [each for each in made if not is_found(each)]
    mistaken = [each for each in alike if redacted(each.text) != each.text]
    if verbose:
        for secret in missed:
            print(f"  missed  {secret.kind}: {secret.text[:160]!r}")
        for text in mistaken:
            print(f"  mistake {text.kind}: {redacted(text.text)[:160]!r}")
    return Counter(each.kind for each in missed), Counter(each.kind for each in mistaken), len(made), len(alike)


def microseconds_of_a_kilobyte() -> float:
    text = ("The quick engine crossed the river in the morning; we repaired 3 bridges and wrote it down. " * 12)[:1024]
    finder.find(text)
    times = []
    for _ in range(20):
        began = time.process_time()
        for _ in range(200):
            finder.find(text)
        times.append((time.process_time() - began) / 200)
    return statistics.median(times) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", default=keys.TESTING, choices=(keys.TUNING, keys.TESTING))
    parser.add_argument("--seeds", type=int, nargs="+", default=[11, 12, 13])
    parser.add_argument("--verbose", action="store_true")
    asked = parser.parse_args()
    print("| seed | secrets | found | recall | look-alikes | mistakes |\n|---|---|---|---|---|---|")
    for seed in asked.seeds:
        missed, mistaken, secrets, alike = measure(seed, asked.half, verbose=asked.verbose)
        found = secrets - missed.total()
        print(f"| {seed} | {secrets} | {found} | {found / secrets:.3f} | {alike} | {mistaken.total()} |")
        for what, counts in (("missed", missed), ("mistaken", mistaken)):
            if counts:
                print(f"  {what}: {', '.join(f'{kind} {count}' for kind, count in counts.most_common())}")
    print(f"{microseconds_of_a_kilobyte():.0f} microseconds of a processor for a kilobyte of ordinary text")


if __name__ == "__main__":
    main()
