# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Draws what `tensoa track --trace TRACE.json` wrote: which module ran when, on which thread and for which event in flight.

    python scripts/draw_trace.py TRACE.json PICTURE [BEGIN END]     in milliseconds; needs matplotlib

The picture in docs/scheduling.md is of a real run. To look closer, open the trace in https://ui.perfetto.dev.
"""

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt

GROUPS = {1: "thread", 2: "event in flight"}


def main():
    trace, picture = sys.argv[1:3]
    spans = [event for event in json.loads(Path(trace).read_text())["traceEvents"] if event["ph"] == "X"]
    last = max(span["ts"] + span["dur"] for span in spans) / 1e3
    begin, end = map(float, sys.argv[3:5]) if len(sys.argv) > 3 else (0, last)
    modules = list(dict.fromkeys(span["name"] for span in sorted(spans, key=lambda span: span["ts"])))
    rows = sorted({(span["pid"], span["tid"]) for span in spans})
    figure, axes = plt.subplots(figsize=(11, 0.34 * len(rows) + 1.2))
    for number, module in enumerate(modules):
        for row, (group, place) in enumerate(rows):
            bars = [
                (span["ts"] / 1e3, span["dur"] / 1e3)
                for span in spans
                if (span["name"], span["pid"], span["tid"]) == (module, group, place)
                and begin <= span["ts"] / 1e3 + span["dur"] / 1e3
                and span["ts"] / 1e3 <= end
            ]
            axes.broken_barh(
                bars, (row - 0.4, 0.8), color=f"C{number}", edgecolor="white", linewidth=0.4, label=module if row == 0 else None
            )
    for span in spans:
        middle = (span["ts"] + span["dur"] / 2) / 1e3
        if span["pid"] == 2 and begin <= middle <= end and span["dur"] / 1e3 > 0.03 * (end - begin):
            axes.text(
                middle, rows.index((2, span["tid"])), span["args"]["event"], ha="center", va="center", color="white", fontsize=8
            )
    axes.set_yticks(range(len(rows)), [f"{GROUPS[group]} {place}" for group, place in rows])
    axes.invert_yaxis()
    axes.set_xlabel("ms")
    axes.set_xlim(begin, end)
    axes.legend(ncols=len(modules), loc="lower left", bbox_to_anchor=(0, 1), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture, bbox_inches="tight", dpi=110)


if __name__ == "__main__":
    main()
