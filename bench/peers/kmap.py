#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What `memorizer report` says of a KMAP of 8 fields, as one writes it in Python:
a loop over the lines, dictionaries, bisect for the symbols. kmap.py KMAP KALLSYMS"""
import bisect
import collections
import sys

starts, names = [], []
for line in open(sys.argv[2]):
    f = line.split()
    if f[1] in 'tT':
        starts.append(int(f[0], 16))
        names.append(f[2])
order = sorted(range(len(starts)), key=starts.__getitem__)
starts = [starts[i] for i in order]
names = [names[i] for i in order]
known = {}


def name(ip):
    if ip not in known:
        i = bisect.bisect_right(starts, int(ip, 16) - 1)
        known[ip] = names[i - 1] if i else ip
    return known[ip]


kinds = collections.defaultdict(lambda: [0, 0, 0, 0, 0, 0])
pairs = collections.defaultdict(lambda: [0, 0, 0])
code = collections.defaultdict(lambda: [0, 0])
procs = collections.defaultdict(lambda: [0, 0])
objects = size = freed = missed = untouched = unread = unwritten = by_pids = by_contexts = 0
now = None


def end():
    global untouched, unread, unwritten, by_pids, by_contexts
    kind, bytes_, reads, writes, pids, seen = now
    k = kinds[kind]
    k[4] += reads
    k[5] += writes
    untouched += not reads and not writes
    unread += not reads and bool(writes)
    unwritten += not writes and bool(reads)
    by_pids += len(pids - {'0'}) > 1
    by_contexts += '0' in pids and len(pids) > 1


for line in open(sys.argv[1], errors='replace'):
    f = line.rstrip('\n').split(',')
    if line[0] != ' ':
        if now:
            end()
        ip, pid, va, n, born, died, free, comm = f
        n = int(n)
        kind = (ip, va if ip == '0000000000000000' else '')
        k = kinds[kind]
        k[0] += 1
        k[1] += n
        k[2] = min(k[2], n)
        k[3] = max(k[3], n)
        objects += 1
        size += n
        freed += died != '0'
        missed += free == '00000000deadbeef'
        p = procs[pid, comm]
        p[0] += 1
        p[1] += n
        now = [kind, n, 0, 0, set(), set()]
        continue
    ip, pid, writes, reads = f
    ip = ip.strip()
    reads, writes = int(reads), int(writes)
    now[2] += reads
    now[3] += writes
    now[4].add(pid)
    c = code[name(ip)]
    c[0] += reads
    c[1] += writes
    p = pairs[name(ip), now[0]]
    p[0] += reads
    p[1] += writes
    if (name(ip), now[0]) not in now[5]:
        p[2] += 1
        now[5].add((name(ip), now[0]))
if now:
    end()
print(objects, size, freed, missed, untouched, unread, unwritten, by_pids, by_contexts, len(kinds), len(code))
for k in sorted(kinds, key=lambda k: -kinds[k][1])[:8]:
    print(k, kinds[k])
for k in sorted(pairs, key=lambda k: -pairs[k][0] - pairs[k][1])[:8]:
    print(k, pairs[k])
for k in sorted(code, key=lambda k: -code[k][0] - code[k][1])[:8]:
    print(k, code[k])
for k in sorted(procs, key=lambda k: -procs[k][1])[:8]:
    print(k, procs[k])
