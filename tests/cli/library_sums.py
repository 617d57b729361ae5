# SPDX-License-Identifier: BSD-2-Clause
"""library_sums.py TRACE.cmt NAME RULES: what the library adds up by function, file, module and
thread, what it suppresses and how far stacks reach, against the report (NAME.WAY.json) and
against a slow sum over the events that it returns."""
import json
import os
import re
import sys

import memorizer

failures = 0
SUMS = ("blocks", "bytes", "at_peak", "live_blocks", "live_bytes", "temporary", "waste")
# a list of the report: the columns that its values and its blocks are in
VIEWS = {"at_peak": ("at_peak", None), "churn": ("bytes", "blocks"), "waste": ("waste", "blocks"),
         "never_freed": ("live_bytes", "live_blocks"), "temporary": ("temporary", "temporary")}
STARTS = ("_start", "_dl_start_user", "clone", "__clone", "clone3", "__clone3", "__GI___clone3")


def check(name, got, want):
    global failures
    if got == want:
        print("ok sums of %s: %s" % (sys.argv[2], name))
    else:
        failures += 1
        print("not ok sums of %s: %s: got %.300r, wanted %.300r" % (sys.argv[2], name, got, want))


class Block:
    def __init__(self, ev, turn):
        self.size, self.tid, self.stack, self.turn = ev.size, ev.tid, ev.site or 0, turn
        self.waste = max(ev.given - ev.size, 0) if ev.given is not None else 0


def replay(events):
    """For each event, the block that ends and whether it was temporary, and the one that begins."""
    live, turns = {}, {}
    for ev in events:
        ended = begun = None
        temporary = False
        if ev.kind == "free" or (ev.kind == "realloc" and (ev.addr or not ev.size)):
            ended = live.pop(ev.old_object if ev.kind == "realloc" else ev.object, None)
            temporary = ended is not None and (ended.tid, ended.turn) == (ev.tid, turns.get(ev.tid))
        if ev.kind in ("alloc", "realloc") and ev.addr:
            turns[ev.tid] = turns.get(ev.tid, 0) + 1
            begun = live[ev.object] = Block(ev, turns[ev.tid])
        yield ended, temporary, begun


def slow_sums(steps, key):
    """The sums of all blocks by key(block), in the order of SUMS."""
    now = peak = at = 0
    for i, (ended, _, begun) in enumerate(steps):
        now += (begun.size if begun else 0) - (ended.size if ended else 0)
        if now > peak:
            peak, at = now, i
    sums = {}
    for i, (ended, temporary, begun) in enumerate(steps):
        for block, sign in (ended, -1), (begun, 1):
            if not block:
                continue
            s = sums.setdefault(key(block), dict.fromkeys(SUMS, 0))
            if sign > 0:
                s["blocks"] += 1
                s["bytes"] += block.size
                s["waste"] += block.waste
            s["live_blocks"] += sign
            s["live_bytes"] += sign * block.size
            s["at_peak"] += sign * block.size if i <= at else 0
            s["temporary"] += sign < 0 and temporary
    return sums


def describe(f):
    if f.function and f.file and f.line:
        return "%s (%s:%d)" % (f.function, os.path.basename(f.file), f.line)
    if f.function:
        return "%s (%s)" % (f.function, os.path.basename(f.file) if f.file else f.module)
    return "%s+%#x" % (f.module, f.offset) if f.module else "%#x" % f.address


class Stacks:
    """Each stack's frames, and the one that the library names it after."""

    def __init__(self, a):
        self.frames, self.place = {}, {}
        for row in a.ask("stacks"):
            n = row["stack"]
            self.frames[n] = [f for ip in a.stack(n) for f in a.frames(ip)]
            self.place[n] = next((f for f in self.frames[n] if describe(f) == row["where"]), None)

    def key(self, way):
        def of(block):
            f = self.place.get(block.stack)
            if not f:
                return "(no stack)"
            name = {"function": f.function, "file": f.file, "module": f.module}[way]
            if not name and way == "file" and f.module:
                return "(%s)" % f.module
            return name or describe(f)
        return of


def rows(table):
    """By name, and each name once."""
    check("every row of '%s' once" % table.name, len({r["where"] for r in table}), len(table))
    return {r["where"]: {k: r[k] for k in SUMS} for r in table}


def reported(way):
    with open("%s.%s.json" % (sys.argv[2], way)) as f:
        return json.load(f)


def lists(name, table, report):
    """The lists of the report, which do not count what is suppressed as never freed."""
    for view, (value, blocks) in VIEWS.items():
        got, want = {}, {}
        for r in table:
            less = view == "never_freed"
            x = r[value] - (r.get("suppressed_bytes", 0) if less else 0)
            n = r[blocks] - (r.get("suppressed_blocks", 0) if less else 0) if blocks else None
            if x and r["where"] != "(no stack)":
                got[r["where"]] = (x, n)
        for s in report["sites"][view]:
            want[s["where"]] = (s["value"], s["blocks"] if blocks else None)
        check("%s: the report's %s" % (name, view), got, want)


def matches(rule, frames):
    """A rule as memorizer-report(1) describes it."""
    patterns = []
    for p in rule.split(";"):
        start, end = p.startswith("^"), p.endswith("$")
        p = p[start:len(p) - end]
        patterns.append(re.compile("^" * start + ".*".join(map(re.escape, p.split("*"))) + r"\Z" * end, re.S))
    for f in frames:
        if patterns and any(patterns[0].search(t) for t in (f.function, f.file, f.module) if t):
            patterns.pop(0)
    return not patterns


def live_of(sums, stacks):
    return {n: (sums[n]["live_blocks"], sums[n]["live_bytes"]) for n in stacks}


def suppressed(a, steps, stacks, report):
    table = list(a.ask("suppressed"))
    sums = slow_sums(steps, lambda b: b.stack)
    got = {r["stack"]: (r["live_blocks"], r["live_bytes"]) for r in table}
    check("suppressed: the live blocks of these stacks", got, live_of(sums, got))
    check("suppressed: the rules match", [r for r in table if not matches(r["rule"], stacks.frames[r["stack"]])], [])
    check("suppressed: the report's sums", [sum(r[k] for r in table) for k in ("live_blocks", "live_bytes")],
          [report["suppressed_blocks"], report["suppressed_bytes"]])
    for question in "sites", "functions", "files", "modules":
        check("suppressed, by " + question, sum(r["suppressed_bytes"] for r in a.ask(question)),
              report["suppressed_bytes"])


def own_rules(path, rules, steps, stacks):
    """The rules of a file alone suppress what they match, and nothing else."""
    with open(rules) as f:
        own = [line.strip()[len("leak:"):] for line in f]
    sums = slow_sums(steps, lambda b: b.stack)
    want = live_of(sums, [n for n, frames in stacks.frames.items()
                          if n and sums[n]["live_blocks"] and any(matches(r, frames) for r in own)])
    with memorizer.open(path, want="sums", suppressions=rules, default_suppressions=False) as a:
        table = list(a.ask("suppressed"))
    check("own rules", {r["stack"]: (r["live_blocks"], r["live_bytes"]) for r in table}, want)
    check("own rules: each is one of them", {r["rule"] for r in table} - set(own), set())
    with memorizer.open(path, want="sums", suppressions=rules) as a:
        both = list(a.ask("suppressed"))
        report = reported("rules")
        check("own rules and the default ones", [sum(r[k] for r in both) for k in ("live_blocks", "live_bytes")],
              [report["suppressed_blocks"], report["suppressed_bytes"]])
    with memorizer.open(path, want="sums", default_suppressions=False) as a:
        check("no rules", (len(a.ask("suppressed")), sum(r["suppressed_blocks"] for r in a.ask("sites"))), (0, 0))


def quality(a, steps, stacks, report):
    table = a.ask("stack-quality")
    check("stack quality: one row", len(table), 1)
    row = dict(table[0])
    begun = [b.stack for _, _, b in steps if b]
    check("stack quality: blocks without a stack", row.pop("without"), begun.count(0))
    check("stack quality: the report's", row, report["stacks"])
    check("stack quality: blocks with one", row["blocks"], len(begun) - begun.count(0))
    starts = {n: frames[-1].function for n, frames in stacks.frames.items() if frames}
    if not row["guessed"] and None not in starts.values():
        check("stack quality: rooted", row["rooted"], sum(starts.get(n) in STARTS for n in begun))


def main(path, rules):
    with memorizer.open(path, want=("sums", "threads")) as a:
        steps = list(replay(a.events()))
        stacks = Stacks(a)
        check("no block at the address of a live one", a.totals()["over_live"], 0)
        check("each stack has a place", [n for n, f in stacks.place.items() if n and not f], [])
        for way in "function", "file", "module":
            table = a.ask(way + "s")
            check("by " + way, rows(table), slow_sums(steps, stacks.key(way)))
            lists("by " + way, table, reported(way))
        table = a.ask("threads")
        check("by thread", rows(table), slow_sums(steps, lambda b: "thread %d" % b.tid))
        lists("by thread", table, reported("thread"))
        check("more than one of each", min(len(a.ask(q)) for q in ("functions", "modules")) > 1, True)
        suppressed(a, steps, stacks, reported("module"))
        quality(a, steps, stacks, reported("module"))
    own_rules(path, rules, steps, stacks)
    with memorizer.open(path) as a:
        try:
            a.ask("threads")
            check("threads that were not kept", "no error", "an error")
        except memorizer.Error as e:
            check("threads that were not kept", "MZ_WANT_THREADS" in str(e), True)


main(sys.argv[1], sys.argv[3])
sys.exit(failures != 0)
