#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# The sums of each call stack by a slow and obvious way, from `memorizer cat
# --json`, against the tables sites and frames of `memorizer export --to jsonl`.
# usage: sites.py EVENTS SITES FRAMES
import collections
import json
import sys

ROWS = ('bytes blocks peak_bytes peak_blocks live_bytes live_blocks max_bytes max_blocks '
        'temporary waste peak_waste lifetime').split()


class Site:
    def __init__(self):
        self.__dict__.update({r: 0 for r in ROWS})
        self.live_waste = 0


def once(addresses):
    # a function that was inlined is a frame with the address of the one before
    return tuple(a for i, a in enumerate(addresses) if not i or a != addresses[i - 1])


sites = collections.defaultdict(Site)
live, turn = {}, {}
peak = now = clock = count = 0
timed = given_known = False


def end(block, tid):
    global now
    size, waste, site, born, by, n = block
    s = sites[site]
    s.live_bytes -= size
    s.live_blocks -= 1
    s.live_waste -= waste
    s.lifetime += clock - born
    s.temporary += by == tid and turn.get(tid) == n
    now -= size


for line in open(sys.argv[1]):
    e = json.loads(line)
    if e['kind'] == 'lost':
        continue
    count += 1
    timed |= 'time' in e
    clock = e.get('time', clock) if timed else count
    tid = e.get('tid', 0)
    name = 'addr' if 'addr' in e else 'object'
    new = e.get(name, 0)
    old = e.get('old_' + name, 0)
    if name == 'addr':
        new, old = int(new, 16), int(old or '0', 16)
    if e['kind'] == 'free' and new in live:
        end(live.pop(new), tid)
    if e['kind'] == 'realloc' and (new or not e['size']) and old in live:
        end(live.pop(old), tid)
    if e['kind'] in ('alloc', 'realloc') and new:
        if new in live:
            end(live.pop(new), None)
        site = once(e.get('stack', ()))
        s = sites[site]
        size = e['size']
        given_known |= 'given' in e
        waste = max(0, e.get('given', size) - size)
        turn[tid] = turn.get(tid, 0) + 1
        live[new] = (size, waste, site, clock, tid, turn[tid])
        s.bytes += size
        s.blocks += 1
        s.waste += waste
        s.live_bytes += size
        s.live_blocks += 1
        s.live_waste += waste
        if s.live_bytes > s.max_bytes or not s.max_blocks:
            s.max_bytes, s.max_blocks = s.live_bytes, s.live_blocks
        now += size
        if now > peak:
            peak = now
            for x in sites.values():
                x.peak_bytes, x.peak_blocks, x.peak_waste = x.live_bytes, x.live_blocks, x.live_waste
for size, waste, site, born, by, n in live.values():
    sites[site].lifetime += clock - born

stacks = collections.defaultdict(dict)
for line in open(sys.argv[3]):
    f = json.loads(line)
    stacks[f['site']][f['depth']] = f.get('addr')
got = {}
for line in open(sys.argv[2]):
    s = json.loads(line)
    frames = stacks[s['site']]
    key = once([frames[i] for i in range(len(frames))])
    got[() if key == (None,) else key] = s
want = {k: v for k, v in sites.items() if v.blocks}
if set(got) != set(want):
    sys.exit(f'{len(got)} stacks, wanted {len(want)}')
for k, v in want.items():
    for r in ROWS:
        if r in ('waste', 'peak_waste') and not given_known:
            if r in got[k]:
                sys.exit(f'{r} is told, and not known')
        elif got[k][r] != getattr(v, r):
            sys.exit(f'{k}: {r} is {got[k][r]}, wanted {getattr(v, r)}')
if not want:
    sys.exit('there are no stacks')
