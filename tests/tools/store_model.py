#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
A slow model of a store of recordings, which shares nothing with the program: it makes
histories of recordings in the format of DHAT from a real one, reads them back by itself, and
answers the questions by adding up in dictionaries.

  store_model.py make BASE.dhat DIR SEED REVISIONS RUNS [PLANT]   writes DIR/*.dhat, DIR/history
  store_model.py check DIR PROGRAM STORE      asks memorizer, and compares all answers
"""
import bisect
import csv
import hashlib
import json
import math
import os
import random
import subprocess
import sys
from collections import defaultdict

FIELDS = {"bytes": "tb", "blocks": "tbk", "peak_bytes": "gb", "live_bytes": "eb"}
START = 1700000000


# ---- making -----------------------------------------------------------------------------------

def make(base, folder, seed, revisions, runs, plant):
    """Each run has most values of the real recording, some within 10 % of them, and lacks 3 % of
    its stacks. PLANT: since two thirds of the revisions one function takes 30 % more."""
    rng = random.Random(int(seed))
    real = json.load(open(base))
    names = real["ftbl"]
    # no function is one that allocates on behalf of others: the site is the innermost frame
    real["ftbl"] = [n if i == 0 else n.replace(": ", ": x_", 1) for i, n in enumerate(names)]
    for n, p in enumerate(real["pps"]):  # DHAT's peaks may all be 0 in a short run
        p["gb"] = max(p["gb"], 16 * (n % 50)) + p["mb"]
        p["gbk"] = max(p["gbk"], 1)
    totals = defaultdict(int)
    for p in real["pps"]:
        totals[function_of(real["ftbl"][p["fs"][0]])] += p["gb"]
    target = sorted(totals, key=totals.get)[len(totals) * 3 // 4]
    os.makedirs(folder, exist_ok=True)
    history = []
    for r in range(int(revisions)):
        for k in range(int(runs)):
            one = dict(real, pps=[])
            for p in real["pps"]:
                if rng.random() < 0.03:
                    continue
                q = dict(p)
                factor = 1 if rng.random() < 0.6 else rng.uniform(0.9, 1.1)
                if plant and r >= int(revisions) * 2 // 3 and function_of(real["ftbl"][p["fs"][0]]) == target:
                    factor *= 1.3
                for f in ("tb", "tbk", "gb", "eb", "mb"):
                    q[f] = int(q[f] * factor)
                one["pps"].append(q)
            one["pid"] = r * 1000 + k
            path = os.path.join(folder, "r%03d-%d.dhat" % (r, k))
            json.dump(one, open(path, "w"))
            time = START + r * 43200 + k * 60
            os.utime(path, (time, time))
            history.append([path, "rev%03d" % r, "host%d" % (k % 3), str(time)])
    csv.writer(open(os.path.join(folder, "history"), "w")).writerows(history)
    print(target)


def function_of(frame):
    """The function, and the file without its folder: '0x12: f (a/b.c:3)'."""
    text = frame.split(": ", 1)[1]
    name, _, place = text.partition(" (")
    if place.startswith("in ") or not place:
        return name
    return "%s (%s)" % (name, place.rstrip(")").split(":")[0].split("/")[-1])


# ---- the model --------------------------------------------------------------------------------

class Run:
    def __init__(self, path, revision, host, time):
        d = json.load(open(path))
        self.revision, self.host, self.time = revision, host, int(time)
        self.sites = {m: defaultdict(int) for m in FIELDS}
        self.stacks = {m: defaultdict(int) for m in FIELDS}
        self.seen_sites, self.seen_stacks = set(), set()
        self.all = dict.fromkeys(FIELDS, 0)
        names = [None] + [function_of(f) for f in d["ftbl"][1:]]
        for p in d["pps"]:
            site = names[p["fs"][0]]
            # what a store calls a stack: all functions with their files
            stack = tuple(names[i] for i in p["fs"])
            self.seen_sites.add(site)
            self.seen_stacks.add(stack)
            for m, f in FIELDS.items():
                self.sites[m][site] += p[f]
                self.stacks[m][stack] += p[f]
                self.all[m] += p[f]
        content = hashlib.sha256(open(path, "rb").read()).digest()
        self.content = content

    def digest(self, program):
        h = hashlib.sha256(self.content)
        for part in (program, self.revision, self.host, ""):
            h.update(part.encode() + b"\0")
        return h.hexdigest()[:32]


def shown(stack):
    return ";".join(f.split(" (")[0] for f in reversed(stack))


def near(a, b):
    if a is None or b is None:
        return a == b
    return abs(a - b) <= 1e-4 * max(abs(a), abs(b)) + 1e-9


def half_up(x):
    return int(math.floor(x + 0.5))


def spread(values):
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1)) if len(values) > 1 else 0.0


def rank_chance(before, after):
    """Mann and Whitney's U: how many pairs rise, those that are equal by half; normal
    approximation, with ties and continuity."""
    low = sorted(before)
    u = sum((bisect.bisect_left(low, b) + bisect.bisect_right(low, b)) / 2 for b in after)
    n, m = len(before), len(after)
    counts = defaultdict(int)
    for v in before + after:
        counts[v] += 1
    total = n + m
    ties = sum(c ** 3 - c for c in counts.values())
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0:
        return 0.5
    z = (u - n * m / 2 - 0.5) / math.sqrt(variance)
    return 0.5 * math.erfc(z / math.sqrt(2))


def t_chance(before, after):
    """Student's t, its tail by Simpson's rule."""
    (a, sa), (b, sb) = spread(before), spread(after)
    n, m = len(before), len(after)
    df = n + m - 2
    variance = ((n - 1) * sa ** 2 + (m - 1) * sb ** 2) / df
    if variance <= 0:
        return 0.0 if b > a else 1.0
    t = (b - a) / math.sqrt(variance * (1 / n + 1 / m))
    c = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
    # P(T > t) = integral over x = tan(y), from y = atan(t) to pi / 2
    f = lambda y: c * (1 + math.tan(y) ** 2 / df) ** (-(df + 1) / 2) / math.cos(y) ** 2
    lo, hi, steps = math.atan(t), math.pi / 2 - 1e-9, 20000
    h = (hi - lo) / steps
    return h / 3 * sum((1 if i in (0, steps) else 4 if i % 2 else 2) * f(lo + i * h) for i in range(steps + 1))


def regressions(runs, metric, chance=0.001, least=0.05):
    sites = sorted(set().union(*(r.seen_sites for r in runs)))
    series = {s: [r.sites[metric].get(s, 0) for r in runs] for s in sites}
    series = {s: v for s, v in series.items() if any(v)}
    series["(all)"] = [r.all[metric] for r in runs]
    splits = [i for i in range(5, len(runs) - 4) if runs[i].revision != runs[i - 1].revision]
    found = {}
    for name, values in series.items():
        best = min(((rank_chance(values[:i], values[i:]), -i) for i in splits), default=None)
        if not best:
            continue
        p = min(1, min(1, best[0] * len(splits)) * len(series))
        i = -best[1]
        (a, sa), (b, sb) = spread(values[:i]), spread(values[i:])
        if p < chance and b >= a * (1 + least):
            found[name] = (runs[i].revision, i, half_up(a), half_up(sa), len(values) - i, half_up(b), half_up(sb))
    return found


# ---- checking ---------------------------------------------------------------------------------

def ask(*args):
    r = subprocess.run(["memorizer", "store", *args, "--json"], capture_output=True, text=True)
    if r.returncode:
        sys.exit("memorizer store %s: %s" % (" ".join(args), r.stderr or r.stdout))
    return json.loads(r.stdout)


def want(name, got, wanted):
    if got != wanted:
        a, b = str(got), str(wanted)
        at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        print("not ok %s: got ...%s, wanted ...%s" % (name, a[max(0, at - 60):at + 60], b[max(0, at - 60):at + 60]))
        want.failed = True
    else:
        print("ok %s" % name)


want.failed = False


def check(folder, program, store):
    runs = [Run(*row) for row in csv.reader(open(os.path.join(folder, "history")))]
    runs.sort(key=lambda r: (r.time, r.digest(program)))
    of = ["--program", program]
    got = ask("list", store, *of)["recordings"]
    want("list", [(g["digest"], g["revision"], g["host"], g["bytes"], g["peak_bytes"], g["live_bytes"]) for g in got],
         [(r.digest(program), r.revision, r.host, r.all["bytes"], r.all["peak_bytes"], r.all["live_bytes"]) for r in runs])
    for metric, option in (("peak_bytes", "peak"), ("bytes", "total")):
        for by in ("function", "stack"):
            for host in (None, "host1"):
                some = [r for r in runs if host in (None, r.host)]
                sums, count, top = defaultdict(int), defaultdict(int), defaultdict(int)
                for r in some:
                    for key in (r.seen_sites if by == "function" else r.seen_stacks):
                        v = (r.sites if by == "function" else r.stacks)[metric][key]
                        sums[key] += v
                        count[key] += 1
                        top[key] = max(top[key], v)
                name = (lambda k: k) if by == "function" else shown
                got = ask("top", store, *of, "--by", by, "--metric", option, *(["--host", host] if host else []))["top"]
                want("top by %s, %s, %s" % (by, option, host or "all hosts"),
                     sorted((g["name"], g["runs"], g["total"], g["max"], g["mean"]) for g in got),
                     sorted((name(k), count[k], sums[k], top[k], (sums[k] + len(some) // 2) // len(some)) for k in sums))
    check_trend(runs, of, store)
    check_diff(runs, of, store)
    check_regressions(runs, of, store)
    check_gate(runs, of, store)


def check_trend(runs, of, store):
    sites = sorted(set().union(*(r.seen_sites for r in runs)))
    for site in (sites[0], sites[len(sites) // 2], ""):
        steps = {}
        for r in runs:
            steps.setdefault(r.revision, []).append(r.sites["peak_bytes"].get(site, 0) if site else r.all["peak_bytes"])
        rows = [(s, len(v), half_up(spread(v)[0]), half_up(spread(v)[1]), min(v), max(v)) for s, v in steps.items()]
        got = ask("trend", store, *([site] if site else []), *of)["trend"]
        want("trend of %s" % (site or "the whole"), [(g["step"], g["runs"], g["mean"], g["deviation"], g["min"], g["max"]) for g in got], rows)


def check_diff(runs, of, store):
    revisions = sorted({r.revision for r in runs})
    for a, b in ((revisions[0], revisions[-1]), (revisions[1], revisions[2])):
        for by in ("stack", "function"):
            side = []
            for revision in (a, b):
                sums, count = defaultdict(int), defaultdict(int)
                chosen = [r for r in runs if r.revision == revision]
                for r in chosen:
                    for key in (r.seen_stacks if by == "stack" else r.seen_sites):
                        sums[key] += (r.stacks if by == "stack" else r.sites)["peak_bytes"][key]
                        count[key] += 1
                side.append((sums, count, len(chosen)))
            (x, cx, nx), (y, cy, ny) = side
            rows = []
            for key in set(x) | set(y):
                if x[key] * ny == y[key] * nx:
                    continue
                state = "new" if not cx[key] else "gone" if not cy[key] else "grown" if y[key] * nx > x[key] * ny else "shrunk"
                rows.append((shown(key) if by == "stack" else key, state, cx[key], cy[key], x[key], y[key]))
            got = ask("diff", store, a, b, *of, "--by", by)["changes"]
            want("diff of %s and %s by %s" % (a, b, by),
                 sorted((g["name"], g["state"], g["runs_a"], g["runs_b"], g["sum_a"], g["sum_b"]) for g in got), sorted(rows))


def check_regressions(runs, of, store):
    got = ask("regressions", store, *of)["regressions"]
    rows = regressions(runs, "peak_bytes")
    want("regressions", sorted((g["name"], (g["revision"], g["runs_before"], g["mean_before"], g["deviation_before"], g["runs_after"], g["mean_after"], g["deviation_after"])) for g in got),
         sorted(rows.items()))


def check_gate(runs, of, store):
    revision = sorted({r.revision for r in runs})[-1]
    first = min(r.time for r in runs if r.revision == revision)
    before = [r.all["peak_bytes"] for r in runs if r.time < first][-100:]
    after = [r.all["peak_bytes"] for r in runs if r.revision == revision]
    r = subprocess.run(["memorizer", "store", "gate", store, *of, "--fail-if", "peak > +0.5%", "--json"], capture_output=True, text=True)
    row = json.loads(r.stdout)["budgets"][0]
    a, b = half_up(spread(before)[0]), half_up(spread(after)[0])
    p = t_chance(before, after)
    over = 100 * (b - a) / a > 0.5 and p < 0.05
    want("gate", (row["runs_before"], row["mean_before"], row["runs_after"], row["mean_after"], row["over"], r.returncode),
         (len(before), a, len(after), b, "yes" if over else "no", 1 if over else 0))
    want("gate: the chance", near(row["chance"], p) or "%g, not %g" % (row["chance"], p), True)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(*sys.argv[2:7], len(sys.argv) > 7)
    else:
        check(*sys.argv[2:5])
        sys.exit(want.failed)
