#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Instructions an event, from the lines of kmemtrace-cost.guest.

  kmemtrace-cost.py FILE...   "NAME VALUE" lines; a second file is a kernel without kmemtrace
"""
import sys

ROUNDS = {"open-read-close": 500, "fork": 50, "pipe": 125, "unix": 125, "tmpfs": 75}


def load(path):
    out = {}
    for mode, what, n in (line.split() for line in open(path) if len(line.split()) == 3):
        out[mode, what] = min(int(n), out.get((mode, what), int(n)))
    return out


def total(rows, mode):
    return sum(rows[mode, part] * n for part, n in ROUNDS.items())


with_it = load(sys.argv[1])
for mode in "kmemtrace", "ftrace":
    # two runs, and in each a tenth of the rounds goes before the measured ones
    each = (total(with_it, mode) - total(with_it, "none")) / (with_it[mode, "events"] / 2 / 1.1)
    print(mode, "%.1f" % each)
    with_it[mode] = each
print("ratio", "%.3f" % (with_it["kmemtrace"] / with_it["ftrace"]))
print("lost", with_it["kmemtrace", "lost"])
if len(sys.argv) > 2:
    print("off", "%.4f" % (total(with_it, "none") / total(load(sys.argv[2]), "none")))
