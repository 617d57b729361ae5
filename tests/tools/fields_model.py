#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""fields_model.py VMLINUX KMAP TYPES.json FIELDS.json: is each row of `memorizer kmap fields`
what the lines of the map and pahole say? Prints ok and not ok lines.

TYPES.json: of `kmap object --json`, which structure each allocation site makes. Rows of one
member only: members that share their bytes, or several at once, are left to the test.
"""
import collections
import json
import re
import subprocess
import sys

vmlinux, kmap, types, fields = sys.argv[1:]
is_a = {}  # site -> structure
for row in json.load(open(types))['types']:
    if row['struct']:
        is_a[row['site'].split('+')[0]] = row['struct'].replace('struct ', '')
symbols = []
for line in subprocess.run(['nm', '-n', vmlinux], capture_output=True, text=True).stdout.splitlines():
    f = line.split()
    if f[1] in 'tT':
        symbols.append((int(f[0], 16), f[2]))


def function(ip):
    return [name for start, name in symbols if start < ip and name != '_stext'][-1]


def members(struct):
    """name -> (offset, size), of members at the top that have their bytes alone"""
    out, depth = {}, 0
    text = subprocess.run(['pahole', '-C', struct, vmlinux], capture_output=True, text=True).stdout
    for line in text.splitlines():
        m = re.search(r'(\w+)(?:\[\d*\])?; +/\* +(\d+) +(\d+) \*/', line)
        if m and depth == 1:
            out[m[1]] = int(m[2]), int(m[3])
        depth += line.count('{') - line.count('}')
    return out, int(re.search(r'size: (\d+)', text)[1])


known = {s: members(s) for s in set(is_a.values())}
want = collections.defaultdict(lambda: [0, 0])
struct = size = None
for line in open(kmap):
    f = line.strip().split(',')
    if line[0] != ' ':
        struct, size = is_a.get(function(int(f[0], 16))), int(f[3])
    elif struct and int(f[4]) < 65535:
        writes, reads, first, last = map(int, f[2:6])
        table, whole = known[struct]
        if size > whole and size % whole == 0:  # an array
            if first // whole != last // whole:
                continue
            first, last = first % whole, last % whole
        for name, (offset, length) in table.items():
            if first >= offset and (last < offset + length or not length):
                want[struct, name][0] += reads
                want[struct, name][1] += writes
                break
rows = {}
for row in json.load(open(fields))['fields']:
    struct, name = row['struct'].replace('struct ', ''), row['member']
    if name not in known[struct][0]:
        continue
    rows[struct, name] = [row['reads'], row['writes']]
    place = known[struct][0][name]
    if (row['offset'], row['size']) != place:
        print(f"not ok {struct}.{name}: at {row['offset']}, {row['size']} bytes; pahole says {place}")
for key in sorted(set(want) | set(rows)):
    got, wanted = rows.get(key), want.get(key, [0, 0])
    if got == wanted:
        print(f"ok {'.'.join(key)}: {got[0]} reads, {got[1]} writes, where pahole has it")
    elif key[1] != 'in' and key[1] != 'u':  # their members have rows of their own
        print(f"not ok {'.'.join(key)}: {got}, the lines say {wanted}")
