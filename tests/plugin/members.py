#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A KMAP of the kernel in tests/data/kernel/mm/objects.c, made from its site table.

  members.py make TABLE VMLINUX MAP EXPECTED     TABLE: of sites.py --table
  members.py compare EXPECTED FIELDS             FIELDS: memorizer kmap fields --json

Each function that allocates has three objects. Every access site of the table touches each of
them, as often as its number in the table says. EXPECTED: STRUCT OFFSET MEMBER READS WRITES.
"""
import collections
import json
import re
import subprocess
import sys


def calls(vmlinux):
    """The return address of the first allocation of each function."""
    found, function, after = {}, None, False
    for line in subprocess.run(["objdump", "-d", vmlinux], capture_output=True, text=True).stdout.splitlines():
        head, at = re.match(r"([0-9a-f]{16}) <(\w+)>:", line), re.match(r"([0-9a-f]{16}):", line)
        if head:
            function = head[2]
        elif at and after:
            found[function] = int(at[1], 16)
        after = bool(re.search(r"call.*<(kmalloc|cache_alloc)>", line)) and function not in found
    return found


def make(table, vmlinux, path, expected):
    rows = [line.split() for line in open(table)]
    where = calls(vmlinux)
    sums, va = collections.defaultdict(lambda: [0, 0]), 0xffff888000000000
    with open(path, "w") as out:
        for function, size in (("make_known", 80), ("make_flex", 11), ("make_bytes", 80)):
            for _ in range(3):
                va += 4096
                print("%016x,7,%016x,%d,100,0,%016x,sh" % (where[function], va, size, 0), file=out)
                for n, row in enumerate(rows, 1):
                    ip, kind, _, _, _, of, members, offset, of_size = row
                    # flex is another structure than known, in the same object
                    if of == "-" or int(of_size) > size:
                        continue
                    reads, writes = (n if kind != "w" else 0), (n if kind != "r" else 0)
                    print("  %016x,7,%d,%d" % (int(ip, 16), writes, reads), file=out)
                    total = sums["struct " + of, int(offset), "(all of it)" if members == "-" else members.lstrip(".")]
                    total[0] += reads
                    total[1] += writes
    with open(expected, "w") as out:
        for key, (reads, writes) in sorted(sums.items()):
            print(*key, reads, writes, sep="\t", file=out)


def compare(expected, fields):
    got = sorted((r["struct"], r["offset"], r["member"], r["reads"], r["writes"])
                 for r in json.load(open(fields))["fields"])
    want = sorted((s, int(o), m, int(r), int(w)) for s, o, m, r, w in
                  (line.rstrip("\n").split("\t") for line in open(expected)))
    for row in sorted(set(got) ^ set(want)):
        print("unexpected" if row in got else "missing", *row)
    print(len(want), "rows")


globals()[sys.argv[1]](*sys.argv[2:])
