"""`helm lint --strict`, `helm template` and the check of a packaged chart, by Helm's library in an environment of its
own: reads {"chart", "values", "release"} and writes {"lint", "name", "version", "rendered"}."""

from __future__ import annotations

import json
import sys

from helm_python.chart import Chart, lint


def main() -> None:
    asked = json.load(sys.stdin)
    chart = Chart.load(asked["chart"])
    options = {"name": asked["release"], "namespace": "default"}
    rendered = chart.render(asked["values"], **options)
    answer = {
        "lint": lint(asked["chart"], asked["values"], strict=True, quiet=True),
        "name": chart.name,
        "version": chart.version,
        "rendered": {name.partition("/")[2]: text for name, text in rendered.items()},
    }
    json.dump(answer, sys.stdout)


main()
