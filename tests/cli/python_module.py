# SPDX-License-Identifier: BSD-2-Clause
"""python_module.py STACKS.cmt TRACE.txt MAP.kmap: the Python module against what the
commands said (report.json, git.json, lifetimes.json, matrix.json, object.json)."""
import csv
import json
import sys
import threading

import memorizer

failures = 0


def check(name, got, want):
    global failures
    if got == want:
        print("ok python:", name)
    else:
        failures += 1
        print("not ok python: %s: got %.200r, wanted %.200r" % (name, got, want))


def raises(name, code, call, *args, **more):
    try:
        call(*args, **more)
        check(name, "no error", code)
    except memorizer.Error as e:
        check(name, e.errno, code)


def refuses(name, kind, text, call, *args, **more):
    try:
        call(*args, **more)
        check(name, "no error", kind)
    except kind as e:
        check(name, text in str(e), True)


def wrong(path, map):
    refuses("a missing file is one for Python, too", FileNotFoundError, "No such file", memorizer.open, "no-such")
    refuses("and an Error", memorizer.Error, "No such file", memorizer.open, "no-such")
    refuses("a NUL in a path", ValueError, "NUL", memorizer.open, "a\0b")
    refuses("a level that there is not", ValueError, "dir, file, function", memorizer.open, map, by="x")
    refuses("nothing of that name is kept", ValueError, "sums, timeline, layout, threads", memorizer.open, path, want="x")
    with memorizer.open(path, want="layout") as a:
        refuses("no such question", ValueError, "written-by", a.ask, "x")
        refuses("no such comparison", ValueError, "whole", a.compare, a, by="x")
        refuses("totals without sums", memorizer.Error, "MZ_WANT_SUMS", a.totals)
        for address in -1, 1 << 64:
            refuses("an invalid address", ValueError, "64-bit number", a.frames, address)
    with memorizer.open(map) as a:
        refuses("a NUL in a pattern", ValueError, "NUL", a.ask, "classes", "a\0b")
        refuses("frames of a map", memorizer.Error, "no events", a.frames, 1)
    table = memorizer.open(path).ask("sites")
    pandas, sys.modules["pandas"] = sys.modules.get("pandas"), None
    refuses("no pandas", ImportError, "data frames need pandas", table.dataframe)
    del sys.modules["pandas"]
    if pandas:
        sys.modules["pandas"] = pandas


def together(*calls):
    threads = [threading.Thread(target=c) for c in calls]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def threads(path):
    """An Analysis that threads share: no event twice, and none after it is closed."""
    with memorizer.open(path) as a, memorizer.open(path) as b:
        counts, rows = [], []
        together(*[lambda: counts.append(sum(1 for _ in a.events()))] * 4)
        check("four threads read", sum(counts), a.totals()["events"])
        together(*[lambda: rows.append(len(a.compare(b))), lambda: rows.append(len(b.compare(a)))] * 3)
        check("and compare", len(set(rows)), 1)
    for _ in range(20):
        a, seen = memorizer.open(path), []

        def read():
            try:
                for ev in a.events():
                    seen.append(ev.kind)
                    a.stack(ev.site)
            except ValueError as e:
                seen.append(str(e))
        together(read, read, a.close)
    check("closed while they read", set(seen) - {"alloc", "free", "realloc", "the analysis is closed"}, set())


def doublings(values):
    bins = {}
    for v, n in values:
        low = 1 << (v.bit_length() - 1) if v > 1 else 0
        bins[low] = bins.get(low, 0) + n
    return sorted(bins.items())


PAIRS = (("events", "events"), ("lost", "lost"), ("threads", "threads"), ("blocks", "blocks"),
         ("bytes", "bytes"), ("peak_bytes", "peak_bytes"), ("peak_blocks", "peak_blocks"),
         ("peak_event", "peak_event"), ("live_blocks", "never_freed_blocks"),
         ("live_bytes", "never_freed_bytes"), ("temporary_blocks", "temporary_blocks"),
         ("failed", "failed"), ("null_frees", "null_frees"),
         ("unknown_frees", "unknown_frees"), ("over_live", "over_live"))


def number(value):
    """Lost events are told by cause, with their total."""
    return value["total"] if isinstance(value, dict) else value


def totals(name, a, report):
    t = a.totals()
    check(name, [t[mine] for mine, _ in PAIRS], [number(report[theirs]) for _, theirs in PAIRS])


def stacks(path):
    report = json.load(open("report.json"))
    with memorizer.open(path, want=("sums", "timeline")) as a:
        check("kind", a.kind, "user")
        check("command", a.text("command"), report["command"])
        live, born, ages, pools = {}, {}, [], {}
        events = 0
        for ev in a.events():
            events += 1
            if ev.kind == "alloc" and ev.addr:
                born[ev.object] = ev.time
                name = a.string(ev.cache) if ev.cache is not None else None
                if name:
                    pools[name] = pools.get(name, 0) + 1
            elif ev.kind == "free" and ev.object in born:
                ages.append((ev.time - born.pop(ev.object), 1))
        check("events", events, report["events"])
        totals("totals are the report's", a, report)
        sites = a.ask("sites")
        want = [(s["where"], s["value"]) for s in report["sites"]["at_peak"]]
        check("sites at the peak", [(r["where"], r["at_peak"]) for r in sites][:len(want)], want)
        check("sums over sites and over stacks", sum(r["bytes"] for r in a.ask("stacks")),
              a.totals()["bytes"])
        check("pools", {r["name"]: r["blocks"] for r in a.ask("pools")}, pools)
        check("pools are the report's", [(r["name"], r["at_peak"]) for r in a.ask("pools")],
              [(p["name"], p["at_peak"]) for p in report["pools"]])
        check("lifetimes", [(r["from"], r["blocks"]) for r in a.ask("lifetimes")],
              doublings(ages))
        check("the timeline reaches the peak", max(r["high_bytes"] for r in a.ask("timeline")),
              report["peak_bytes"])
        check("nothing is lost", len(a.ask("loss")), 0)
        row = max(a.ask("stacks"), key=lambda r: r["blocks"])
        names = [f.function for ip in a.stack(row["stack"]) for f in a.frames(ip)]
        check("a stack has names up to main", "main" in names and "arena_alloc" in names, True)
        inlined = [f for ip in a.stack(row["stack"]) for f in a.frames(ip) if f.inlined]
        check("with what was inlined", [f.function for f in inlined], ["mz_pool_alloc"])
        raises("can only be asked of a KMAP", 61, a.ask, "written-by")
        frame(sites)
    try:
        a.totals()
        check("a closed analysis", "no error", "ValueError")
    except ValueError:
        check("a closed analysis", 1, 1)


def early(path):
    """A recording without its end, and the same with it."""
    with open(path, "rb") as whole, open("early.cmt", "wb") as cut:
        cut.write(whole.read()[:-20])
    for name, want in ((path, 0), ("early.cmt", 1)):
        with memorizer.open(name) as a:
            check("files that end early", (a.totals()["files_cut"], a.number("files_cut")),
                  (want, want))


def frame(table):
    try:
        import pandas
    except ImportError:
        print("skip python: data frames: no pandas")
        return
    df = table.dataframe()
    check("a data frame has the rows", (len(df), list(df.columns)), (len(table), table.columns))
    check("and the sums", int(df["bytes"].sum()), sum(r["bytes"] for r in table))
    with memorizer.open(sys.argv[2]) as a:
        events = a.events_dataframe()
        check("events as a data frame", (len(events), int((events["kind"] == "alloc").sum())),
              (json.load(open("git.json"))["events"],
               sum(json.load(open("git.json"))["calls"].get(c, 0)
                   for c in ("malloc", "calloc", "memalign", "posix_memalign"))))


def trace(path):
    report = json.load(open("git.json"))
    with memorizer.open(path, want=["sums", "timeline", "layout"]) as a:
        totals("totals of a text trace", a, report)
        pairs = json.load(open("lifetimes.json"))
        check("lifetimes are those of lifetimes-summary",
              [(r["from"], r["blocks"]) for r in a.ask("lifetimes")],
              doublings((p["age"] if "age" in p else p["lifetime"], p["count"]) for p in pairs))
        layout = a.ask("layout")
        check("the layout has points", len(layout) > 1 and layout[-1]["pages"] > 0, True)
        check("one table, twice the same", list(layout), list(a.ask("layout")))
    with memorizer.open(path, want="sums") as a:
        raises("a timeline that was not kept", 61, a.ask, "timeline")
    raises("no such file", 2, memorizer.open, "no-such-file")


def kmap(path):
    with memorizer.open(path, by="function") as a:
        check("kind of a map", a.kind, "kmap")
        want = json.load(open("object.json"))
        check("classes", list(a.ask("classes", "kmalloc*")), want["objects"])
        check("who writes them", list(a.ask("written-by", "kmalloc*")), want["written_by"])
        check("the matrix", list(a.ask("matrix")), json.load(open("matrix.json"))["matrix"])
        check("its heading", a.ask("matrix").heading, open("matrix.txt").readline().rstrip("\n"))
        check("calls", list(a.ask("calls")), json.load(open("calls.json"))["calls"])
        raises("events of a map", 61, next, a.events())
    check("questions", "written-by" in memorizer.questions() and len(memorizer.questions()), 29)


def privilege(path):
    """The measures that the command prints, but for those that are not known."""
    want = [(r["cut"], r["links"], int(r["wx"]), int(r["live"]), int(r["domains"]), r["op"], int(r["ps"]), r["psr"])
            for r in csv.DictReader(open("own/privilege.csv")) if r["psr"]]
    with memorizer.open(path, by="function") as a:
        before = list(a.ask("matrix"))
        got = [(r["cut"], r["links"], r["wx"], r["live"], r["domains"], r["op"], r["ps"], "%.10g" % r["psr"])
               for r in a.ask("privilege")]
        check("privilege, as 'kmap privilege' says", got, want)
        check("not all of it is nothing", len(want) > 50 and any(r[6] > 1000 for r in want), True)
        check("another question after it", list(a.ask("matrix")), before)
    with memorizer.open(path, by="cache") as a:
        raises("privilege of caches", 22, a.ask, "privilege")


def compare(path, other, map):
    """The sums of a comparison are those that each recording has by itself."""
    with memorizer.open(path) as a, memorizer.open(other) as b:
        whole, rows = a.compare(b, by="whole")[0], a.compare(b, sort="bytes")
        for t, s in (a.totals(), "_a"), (b.totals(), "_b"):
            for key in "blocks", "bytes", "peak_bytes", "live_blocks", "live_bytes":
                check("compare: " + key + s, (whole[key + s], sum(r[key + s] for r in rows)), (t[key], t[key]))
        change = [abs(r["bytes_a"] - r["bytes_b"]) for r in rows]
        check("compare: the greatest change first", change, sorted(change, reverse=True))
        raises("compare: a program by object", 22, a.compare, b, "object")
        with memorizer.open(map) as m:
            raises("compare: another kind", 22, a.compare, m)
    with memorizer.open(map, by="function") as a, memorizer.open(map) as b:
        before = list(a.ask("matrix"))
        rows = list(a.compare(b, by="object"))
        check("compare: a map with itself", [r for r in rows if r["reads_a"] != r["reads_b"]], [])
        check("compare: with accesses", sum(r["reads_a"] for r in rows) > 0, True)
        check("compare: another question after it", list(a.ask("matrix")), before)


stacks(sys.argv[1])
early(sys.argv[1])
compare(sys.argv[1], sys.argv[2], sys.argv[3])
privilege("own/own.kmap")
trace(sys.argv[2])
kmap(sys.argv[3])
wrong(sys.argv[1], sys.argv[3])
threads(sys.argv[2])
sys.exit(failures != 0)
