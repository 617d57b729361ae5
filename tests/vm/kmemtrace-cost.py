#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What tracing adds to the workload's instructions, from the lines of kmemtrace-cost.guest.

  kmemtrace-cost.py FILE...   "NAME VALUE" lines; a second file is a kernel without kmemtrace

A part's cost is that of a round, from the batch in the middle (bench/vm/workload.c).
"part NAME": instructions without a tracer, what kmemtrace and what ftrace add, and the
ratio of these two; "worst": the greatest ratio of a part. "ratio", "kmemtrace" and
"ftrace" are of all parts, each of the same weight. "off": with kmemtrace built in and
off, against a kernel without it, the part where that is the most.
"""
import sys

PARTS = ("open-read-close", "fork", "pipe", "unix", "tmpfs")
TRACERS = ("kmemtrace", "ftrace")


def load(path):
    out = {}
    for mode, what, n in (line.split() for line in open(path) if len(line.split()) == 3):
        out.setdefault((mode, what), []).append(int(n))
    return {key: sorted(list)[len(list) // 2] for key, list in out.items()}


rows = load(sys.argv[1])
worst, share = 0, dict.fromkeys(TRACERS, 0)
for part in PARTS:
    none = rows["none", part]
    added = {t: rows[t, part] - none for t in TRACERS}
    ratio = added["kmemtrace"] / added["ftrace"]
    worst = max(worst, ratio)
    for t in TRACERS:
        share[t] += added[t] / none / len(PARTS)
    print("part", part, none, added["kmemtrace"], added["ftrace"], "%.3f" % ratio)
for t in TRACERS:
    print(t, "+%.1f%%" % (100 * share[t]))
    print(t + "-events", rows[t, "events"])
print("ratio", "%.3f" % (share["kmemtrace"] / share["ftrace"]))
print("worst", "%.3f" % worst)
print("lost", rows["kmemtrace", "lost"])
if len(sys.argv) > 2:
    other = load(sys.argv[2])
    print("off", "%.4f" % max(rows["none", p] / other["none", p] for p in PARTS))
