#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What tracing adds to the workload's instructions, from the lines of kmemtrace-cost.guest.

  kmemtrace-cost.py FILE...   "NAME VALUE" lines; a second file is a kernel without kmemtrace

The parts "fork" and "open-read-close" are left out: from run to run, with no tracer at
all, they move by more than a tracer adds (who runs first, what is cached, a tick).
"""
import sys

ROUNDS = {"pipe": 125, "unix": 125, "tmpfs": 75}


def load(path):
    out = {}
    for mode, what, n in (line.split() for line in open(path) if len(line.split()) == 3):
        out[mode, what] = min(int(n), out.get((mode, what), int(n)))
    return out


def total(rows, mode):
    return sum(rows[mode, part] * n for part, n in ROUNDS.items())


rows = load(sys.argv[1])
none = total(rows, "none")
added = {mode: total(rows, mode) - none for mode in ("kmemtrace", "ftrace")}
for mode, n in added.items():
    print(mode, "+%.1f%%" % (100 * n / none))
print("ratio", "%.3f" % (added["kmemtrace"] / added["ftrace"]))
print("lost", rows["kmemtrace", "lost"])
if len(sys.argv) > 2:
    print("off", "%.4f" % (none / total(load(sys.argv[2]), "none")))
