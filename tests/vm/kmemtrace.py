#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A second reader of kmemtrace's records, written from the ABI alone.

  kmemtrace.py facts DIR        what holds for all files together, as "NAME VALUE" lines
  kmemtrace.py live DIR         "BLOCKS BYTES TYPE SITE" of what is live at the end
  kmemtrace.py process DIR PID  "EVENTS allocs|frees TYPE" of one process
  kmemtrace.py original DIR     "RECORDS ALLOCATIONS REQUESTED ALLOCATED FREES" as the first
                                kmemtrace's readers saw them: they knew no extension
  kmemtrace.py swap IN OUT      the same records in the other byte order
"""
import collections
import glob
import struct
import sys

HEAD, SIZES, CONTEXT = "BBHiQQ", "QQIi", "HBBIQII"
NAMES = {(0, 0): "kmalloc", (1, 0): "cache", (2, 0): "pages", (2, 1): "vmalloc"}


def records(path):
    """(seq, event, type, kind, site, ptr, req, given, cache, time, pid, tid) of one file."""
    data = open(path, "rb").read()
    at, last, clock = 0, None, 0
    while at < len(data):
        event, kind_of, size, seq, site, ptr = struct.unpack_from("<" + HEAD, data, at)
        if event > 1 or kind_of > 2 or at + size > len(data):
            sys.exit(f"{path}: byte {at}: no record")
        end, pos, req, given = at + size, at + 24, 0, 0
        if event == 0:
            req, given, _, node = struct.unpack_from("<" + SIZES, data, pos)
            pos += 24
            if node < -1 or req == 0 or (ptr and given < req):
                sys.exit(f"{path}: byte {at}: sizes {req}, {given}, node {node}")
        if end - pos not in (24, 32):
            sys.exit(f"{path}: byte {at}: {end - pos} bytes of extensions")
        length, ext, kind, cache, time, pid, tid = struct.unpack_from("<" + CONTEXT, data, pos)
        if length != 24 or ext != 1 or kind > 1:
            sys.exit(f"{path}: byte {at}: extension {ext} of {length} bytes, kind {kind}")
        if end - pos == 32 and struct.unpack_from("<HBB", data, pos + 24) != (8, 2, 0):
            sys.exit(f"{path}: byte {at}: the second extension is no stack")
        if last is not None and seq <= last:
            sys.exit(f"{path}: byte {at}: number {seq} after {last}")
        if time < clock:
            sys.exit(f"{path}: byte {at}: time {time} after {clock}")
        last, clock, at = seq, time, end
        yield seq, event, kind_of, kind, site, ptr, req, given, cache, time, pid, tid


def all_records(folder):
    out = []
    for path in sorted(glob.glob(folder + "/cpu[0-9]*.out")):
        out.extend(records(path))
    out.sort()
    return out


def symbols(folder):
    rows = sorted((int(a, 16), n) for a, _, n, *_ in map(str.split, open(folder + "/kallsyms")))
    return [r[0] for r in rows], [r[1] for r in rows]


class Heap:
    """Every allocator has its own addresses: pages are also what slab made of them."""

    def __init__(self):
        self.live, self.dead = {}, set()
        self.again = self.unknown = self.double = 0

    def take(self, r):
        seq, event, kind_of, kind, site, ptr, req, given = r[:8]
        space = (2, kind) if kind_of == 2 else 0
        key = (space, ptr)
        if not ptr:
            return
        if event == 0:
            if key in self.live:
                self.again += 1
            self.live[key] = (req, given, NAMES[kind_of, kind], site)
            self.dead.discard(key)
        elif key in self.live:
            del self.live[key]
            self.dead.add(key)
        elif key in self.dead:
            self.double += 1
        else:
            self.unknown += 1


def facts(folder):
    rows = all_records(folder)
    heap, names = Heap(), collections.Counter()
    gaps, last = 0, None
    for r in rows:
        if last is not None:
            gaps += r[0] - last - 1
        last = r[0]
        names[NAMES[r[2], r[3]] + (" frees" if r[1] else " allocations")] += 1
        heap.take(r)
    print("records", len(rows))
    print("first", rows[0][0])
    print("last", last)
    print("missing", gaps)
    print("again", heap.again)
    print("double", heap.double)
    print("unknown", heap.unknown)
    print("live", len(heap.live))
    for of in sorted(set(v[2] for v in heap.live.values())):
        mine = [v for v in heap.live.values() if v[2] == of]
        print("live-" + of, len(mine), sum(v[0] for v in mine), sum(v[1] for v in mine))
    for name, n in sorted(names.items()):
        print(name.replace(" ", "-"), n)


def live(folder):
    heap = Heap()
    for r in all_records(folder):
        heap.take(r)
    sites = collections.defaultdict(lambda: [0, 0])
    for req, given, name, site in heap.live.values():
        sites[name, site][0] += 1
        sites[name, site][1] += given
    for (name, site), (n, given) in sorted(sites.items()):
        print(n, given, name, "%x" % site)


def process(folder, pid):
    n = collections.Counter()
    for r in all_records(folder):
        if r[10] == pid:
            n["frees" if r[1] else "allocs", NAMES[r[2], r[3]]] += 1
    for (what, name), count in sorted(n.items()):
        print(count, what, name)


def original(folder):
    """From the document's ABI of 2008: what a record has beyond its fields is skipped."""
    count, allocs, asked, given, frees = 0, 0, 0, 0, 0
    for path in sorted(glob.glob(folder + "/cpu[0-9]*.out")):
        data, at, last = open(path, "rb").read(), 0, 0
        while at < len(data):
            event, kind, size, seq, _, ptr = struct.unpack_from("<" + HEAD, data, at)
            if event > 1 or kind > 2 or size < (24 if event else 48) or seq <= last:
                sys.exit(f"{path}: byte {at}: not a record of the original")
            if event:
                frees += 1
            else:
                req, alloc, _, node = struct.unpack_from("<" + SIZES, data, at + 24)
                if req == 0 or alloc < req or node < -1:
                    sys.exit(f"{path}: byte {at}: sizes {req}, {alloc}, node {node}")
                if ptr:
                    allocs, asked, given = allocs + 1, asked + req, given + alloc
            count, last, at = count + 1, seq, at + size
        if at != len(data):
            sys.exit(f"{path}: ends in a record")
    print(count, allocs, asked, given, frees)


def swap(path, out):
    data, at, to = open(path, "rb").read(), 0, bytearray()
    while at < len(data):
        event, _, size = struct.unpack_from("<BBH", data, at)
        layout = HEAD + (SIZES if event == 0 else "")
        rest = size - struct.calcsize("<" + layout)
        layout += {24: CONTEXT, 32: CONTEXT + "HBBI", 0: ""}[rest]
        to += struct.pack(">" + layout, *struct.unpack_from("<" + layout, data, at))
        at += size
    open(out, "wb").write(to)


if __name__ == "__main__":
    verb, args = sys.argv[1], sys.argv[2:]
    if verb == "process":
        process(args[0], int(args[1]))
    else:
        {"facts": facts, "live": live, "original": original, "swap": swap}[verb](*args)
