#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The module mz_probe said what it did; is it in the kmap?

  probe.py LOG SYMBOLS KMAP PID    prints ok and not ok lines

LOG: lines "mz_probe: KIND ADDRESS SIZE free|live". SYMBOLS: /proc/kallsyms. Each object
must be there with its size, its state, one site with 23 writes and one with 29 reads,
both in mz_probe_touch and by PID, and no other site in that function.
"""
import collections
import re
import sys

log, symbols, kmap, pid = sys.argv[1:]
text = sorted({int(l.split()[0], 16) for l in open(symbols) if l.split()[1] in "tT"})
touch = next(int(l.split()[0], 16) for l in open(symbols) if " mz_probe_touch" in l)
after = [a for a in text if a > touch]
end = after[0] if after else touch + 4096

objects = []  # (va, size, free_ip, sites of mz_probe_touch)
for line in open(kmap):
    f = line.strip().split(",")
    if line[0] != " ":
        objects.append((int(f[2], 16), int(f[3]), int(f[6], 16), []))
    elif touch <= int(f[0], 16) - 1 < end:
        objects[-1][3].append((f[1], int(f[2]), int(f[3])))
touched = [o for o in objects if o[3]]
by_key = collections.defaultdict(list)
for o in touched:
    by_key[o[0], o[1], o[2] != 0].append(o[3])


def fits(kind, va, size, freed):
    """The objects that this line of the log can mean."""
    if kind in ("percpu", "global"):  # part of something that may be larger
        return [o[3] for o in touched if o[0] <= va < o[0] + o[1]]
    return by_key.get((va, size, freed), [])


wanted = [(pid, 0, 29), (pid, 23, 0)]
failed = 0
counts = collections.Counter()
said = re.findall(r"mz_probe: (\w+) ([0-9a-f]{16}) (\d+) (free|live)", open(log, errors="replace").read())
for kind, va, size, state in said:
    counts[kind] += 1
    name = f"{kind} of {size} bytes, {state}"
    sites = fits(kind, int(va, 16), int(size), state == "free")
    if any(sorted(s) == wanted for s in sites):
        print(f"ok {name}: 23 writes, 29 reads, pid {pid}")
    else:
        near = [o for o in touched if o[0] <= int(va, 16) < o[0] + max(1, o[1])]
        print(f"not ok {name}: found {sites or near or 'no such object'}")
        failed = 1
for kind, n in {"kmalloc": 30, "cache": 1, "bulk": 16, "page": 1, "pages": 1, "exact": 1, "vmalloc": 2,
                "krealloc": 1, "percpu": 1, "global": 1}.items():
    if counts[kind] != n:
        print(f"not ok {kind}: the module touched {counts[kind]}, not {n}")
        failed = 1
if len(touched) != len(said):
    print(f"not ok nothing else was touched: {len(touched)} objects in the map, {len(said)} in the log")
    failed = 1
else:
    print("ok nothing else was touched")
sys.exit(failed)
