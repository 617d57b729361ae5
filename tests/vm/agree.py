#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compare a kmap with what the witness plugin saw, function by function.

  agree.py FUNCTIONS WITNESS KMAP TYPES VMLINUX

FUNCTIONS, WITNESS: see witness.c. TYPES: the lines of objects with print_fields.
VMLINUX: the kernel; vmlinux.o is beside it.
An address may have been several objects in turn, so objects that overlap are one place;
within a place the counts of each function must be equal. Prints a line for each function:

  NAME places P loads L = R stores S = W      (or != where they differ)
"""
import bisect
import collections
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "plugin"))
import sites

HEAP = {"KMALLOC", "KMEM_CACHE"}


def functions(path):
    """Sorted starts and (end, name) of the functions."""
    rows = sorted((int(a, 16), int(b, 16), n) for a, b, n in map(str.split, open(path)))
    return [r[0] for r in rows], [(r[1], r[2]) for r in rows]


def merge(spans):
    """Sorted [start, end) that do not overlap, from any."""
    starts, ends = [], []
    for a, b in sorted(spans):
        if ends and a < ends[-1]:
            ends[-1] = max(ends[-1], b)
        else:
            starts.append(a)
            ends.append(b)
    return starts, ends


def heap_places(path):
    """Merged [start, end) of the heap objects, and what tells an object. Where memory was
    something else too (a stack, page cache), there is no place; nor in task_struct: QEMU 7.2
    counts what XSAVE stores there for the last function that was interrupted."""
    spans, others, heap = [], [], set()
    for line in open(path):
        f = line.rstrip("\n").split(",")
        if len(f) < 11 or not f[3].isdigit():
            continue
        va, given = int(f[2], 16), max(int(f[10]), int(f[3]))
        if f[8] in HEAP and f[9] != "task_struct":
            spans.append((va, va + given))
            heap.add((va, f[3], f[4]))
        else:
            others.append((va, va + given))
    other_starts, other_ends = merge(others)
    starts, ends = [], []
    for a, b in zip(*merge(spans)):
        i = bisect.bisect_left(other_starts, b) - 1
        if i < 0 or other_ends[i] <= a:
            starts.append(a)
            ends.append(b)
    return starts, ends, heap


class Calls:
    """The calls of functions that count for many bytes, by return address: vmlinux.o has their
    names."""

    def __init__(self, vmlinux):
        index = {f[1]: int(f[0]) for f in
                 (l.replace("[", " ").replace("]", " ").split() for l in readelf("-SW", vmlinux + ".o"))
                 if len(f) > 1 and f[0].isdigit()}
        base = self.bases(vmlinux)
        self.names = {}
        section = None
        for line in readelf("-rW", vmlinux + ".o"):
            f = line.split()
            if line.startswith("Relocation section"):
                section = base.get(index.get(f[2].strip("'").replace(".rela", "", 1)))
            elif section is not None and len(f) > 4 and re.match(r"memorizer_(mem|(read|write)_range$)", f[4]):
                self.names[section + int(f[0], 16) + 4] = f[4]

    @staticmethod
    def bases(vmlinux):
        """Where each section of vmlinux.o has gone, by its number."""
        where, unsure = {}, set()
        for line in subprocess.run(["nm", vmlinux], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
            f = line.split()
            if len(f) == 3 and f[2] in where:
                unsure.add(f[2])
            elif len(f) == 3:
                where[f[2]] = int(f[0], 16)
        base = {}
        for line in readelf("-sW", vmlinux + ".o"):
            f = line.split()
            if len(f) == 8 and f[3] == "FUNC" and f[6].isdigit() and f[7] in where and f[7] not in unsure:
                base.setdefault(int(f[6]), where[f[7]] - int(f[1], 16))
        return base

    def at(self, ip):
        return self.names.get(ip, "")


def readelf(what, path):
    return subprocess.run(["readelf", what, path], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


class Places:
    def __init__(self, path):
        self.starts, self.ends, self.heap = heap_places(path)

    def of(self, va):
        i = bisect.bisect_right(self.starts, va) - 1
        return i if i >= 0 and va < self.ends[i] else None


def from_witness(path, places):
    got = collections.defaultdict(lambda: [0, 0])
    complete = False
    for line in open(path):
        f = line.split()
        if f == ["end"]:
            complete = True
            continue
        place = places.of(int(f[1], 16))
        if place is not None:
            got[f[0], place][0] += int(f[2])
            got[f[0], place][1] += int(f[3])
    if not complete:
        sys.exit("the witness did not write its whole result")
    return got


def from_kmap(path, places, starts, ends, calls, sizes):
    """The counts, and the pairs (function, place) that cannot be compared. memcpy() and its
    kin count here and access elsewhere: left out. Structures and user memory are copied in
    place, one count for many loads and stores: the pair is set aside. 16 bytes are two."""
    got, aside = collections.defaultdict(lambda: [0, 0]), set()
    place = None
    for line in open(path):
        f = line.strip().split(",")
        if line[0] != " ":
            va = int(f[2], 16)
            place = places.of(va) if (va, f[3], f[4]) in places.heap else None
            continue
        if place is None:
            continue
        ip = int(f[0], 16)  # a return address: the call is before it
        i = bisect.bisect_right(starts, ip - 1) - 1
        if i < 0 or ip - 1 >= ends[i][0]:
            continue
        called = calls.at(ip)
        size = sizes.get(ip, 0)
        times = 2 if size == 16 else 1
        if called.endswith("_range") or size > 16 or size & (size - 1):
            aside.add((ends[i][1], place))
        elif not called.startswith("memorizer_mem"):
            got[ends[i][1], place][0] += int(f[3]) * times
            got[ends[i][1], place][1] += int(f[2]) * times
    return got, aside


def main():
    starts, ends = functions(sys.argv[1])
    places = Places(sys.argv[4])
    witness = from_witness(sys.argv[2], places)
    sizes = {row[0]: row[2] for row in sites.table(sys.argv[5])}
    kmap, aside = from_kmap(sys.argv[3], places, starts, ends, Calls(sys.argv[5]), sizes)
    total = collections.defaultdict(lambda: [0, 0, 0, 0, 0, 0])
    for key in (set(witness) | set(kmap)) - aside:
        t, w, k = total[key[0]], witness.get(key, [0, 0]), kmap.get(key, [0, 0])
        t[0] += 1
        for i in (0, 1):
            t[1 + 2 * i] += w[i]
            t[2 + 2 * i] += k[i]
        t[5] += w != k
    for name, t in sorted(total.items()):
        same = "=" if not t[5] else "!="
        print(f"{name} places {t[0]} loads {t[1]} {same} {t[2]} stores {t[3]} {same} {t[4]}"
              + (f" ({t[5]} places differ)" if t[5] else ""))
    print(f"# {len(aside)} of {len(set(witness) | set(kmap))} pairs of function and place set aside",
          file=sys.stderr)


main()
