#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Whether the kernel's loops over records yield the CPU on every trip.

  yields.py BUILD    the build folder of a kernel with Memorizer

A kernel that preempts itself needs no yields, and the test kernels do. So the files are
compiled once more as for a kernel that does not (CONFIG_PREEMPT_NONE), with the commands
of the build, and the control flow of the result is searched: is there a way from a call
that handles one record back to itself that does not pass through cond_resched()?
Prints "yields FUNCTION CALL" or "hogs FUNCTION CALL" for each loop.
"""
import os
import re
import sys
import tempfile

from kernel_cc import assembly

# one record or one slice of records per call; loops without a call are named by function
PER_RECORD = {"memorizer_pool_object", "memorizer_release", "memorizer_take_dead"}
WHOLE = {"memorizer_put_back"}
APART = ["-fno-inline-functions", "-fno-inline-small-functions", "-fno-inline-functions-called-once",
         "-fno-reorder-blocks-and-partition", "-fno-partial-inlining", "-fno-optimize-sibling-calls"]


def without_preemption(text):
    """autoconf.h of the same kernel, but one that does not preempt itself."""
    text = re.sub(r"#define CONFIG_PREEMPT(ION|_BUILD|_COUNT|_RCU)? 1\n", "", text)
    return text + "#define CONFIG_PREEMPT_NONE 1\n#define CONFIG_PREEMPT_NONE_BUILD 1\n"


def functions(text):
    """Name and lines of each function."""
    name, lines = None, []
    for line in text.splitlines():
        start = re.match(r"([A-Za-z_]\w*)(\.[\w.]+)?:", line)
        if start:
            name, lines = start[1], []
        elif name and line.startswith("\t.size\t"):
            yield name, lines
            name = None
        elif name and (re.match(r"\t[a-z]", line) or re.match(r"\.L\w+:", line)):
            lines.append(line.strip())


def flow(lines):
    """For each line, the lines that may follow it."""
    at = {line[:-1]: i for i, line in enumerate(lines) if line.endswith(":")}
    follows = []
    for i, line in enumerate(lines):
        op, _, to = line.partition("\t")
        next_ones = [] if op in ("jmp", "ret", "ud2") else [i + 1]
        if op.startswith("j") and to in at:
            next_ones.append(at[to])
        follows.append([n for n in next_ones if n < len(lines)])
    return follows


def returns(follows, start, barred):
    """Whether a way leads from a line back to it, without the barred lines."""
    todo, seen = list(follows[start]), set()
    while todo:
        n = todo.pop()
        if n == start:
            return True
        if n not in seen and n not in barred:
            seen.add(n)
            todo += follows[n]
    return False


def look(name, lines):
    follows = flow(lines)
    calls = {i: line.split("\t")[1] for i, line in enumerate(lines) if re.match(r"call\t\w", line)}
    barred = {i for i, to in calls.items() if to.endswith("cond_resched")}
    loops = {i: to for i, to in calls.items() if to in PER_RECORD}
    if name in WHOLE:
        loops = {i: "list" for i, line in enumerate(lines) if not line.endswith(":") and i not in barred}
    loops = {i: to for i, to in loops.items() if returns(follows, i, set())}
    for to in sorted(set(loops.values())):
        hogs = any(returns(follows, i, barred) for i in loops if loops[i] == to)
        print("hogs" if hogs else "yields", name, to)


def main():
    build = sys.argv[1]
    source = os.path.join(os.path.realpath(f"{build}/source"), "mm/memorizer")
    names = [f[:-2] for f in sorted(os.listdir(source)) if f.endswith(".c") and os.path.exists(f"{build}/mm/memorizer/.{f[:-2]}.o.cmd")
             and not f.endswith("_test.c") and re.search(r"\b(%s)\(" % "|".join(PER_RECORD), open(f"{source}/{f}").read())]
    with tempfile.TemporaryDirectory() as include:
        os.mkdir(f"{include}/generated")
        with open(f"{include}/generated/autoconf.h", "w") as f:
            f.write(without_preemption(open(f"{build}/include/generated/autoconf.h").read()))
        for name in names:
            for function, lines in functions(assembly(build, name, APART, ["-I" + include])):
                look(function, lines)


main()
