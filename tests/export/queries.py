#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# The ten questions of docs/schema.md answered by a slow and obvious way, from
# `memorizer cat --json`; only names of stacks are taken from the exported tables.
# usage: queries.py EVENTS SITES FRAMES; prints a line of JSON for each.
import collections
import json
import sys

events = [json.loads(x) for x in open(sys.argv[1])]
frames = collections.defaultdict(dict)
for line in open(sys.argv[3]):
    f = json.loads(line)
    frames[f['site']][f['depth']] = f
names, place = {}, {}


def once(addresses):
    return tuple(a for i, a in enumerate(addresses) if not i or a != addresses[i - 1])


for line in open(sys.argv[2]):
    s = json.loads(line)
    fs = [frames[s['site']][i] for i in range(len(frames[s['site']]))]
    key = once([f.get('addr') for f in fs])
    key = () if key == (None,) else key
    place[key] = s.get('function')
    names[key] = {f['function'] for f in fs}

Block = collections.namedtuple('Block', 'key size given born died tid freed_tid temporary')
live, turn, done, course = {}, {}, [], []
now = number = 0


def end(name, tid, count=None, temporary=True):
    global now
    key, size, given, born, by, n = live.pop(name)
    done.append(Block(key, size, given, born, count, by, tid if count else None,
                      bool(count) and temporary and by == tid and turn.get(tid) == n))
    now -= size


for e in events:
    number += 1
    tid = e.get('tid')
    name = 'addr' if 'addr' in e else 'object'
    new, old = e.get(name, 0), e.get('old_' + name, 0)
    new, old = (0 if x == '0' else x for x in (new, old))
    if e['kind'] == 'free' and new in live:
        end(new, tid, number)
    if e['kind'] == 'realloc' and (new or not e['size']) and old in live:
        end(old, tid, number)
    if e['kind'] in ('alloc', 'realloc') and new:
        turn[tid] = turn.get(tid, 0) + 1
        live[new] = (once(e.get('stack', ())), e['size'], e.get('given'), number, tid, turn[tid])
        now += e['size']
    course.append(now)
peak = max(course)
at = course.index(peak) + 1
for name in list(live):
    end(name, None)


def group(rows, key):
    out = collections.defaultdict(list)
    for r in rows:
        out[key(r)].append(r)
    return out


def show(rows):
    print(json.dumps([[None if v is None else str(v) for v in r] for r in rows]))


def first(rows, n=10):
    return rows[:n]


def call_site(b):
    return place[b.key]


by_site = group(done, call_site)
live_then = {k: sum(b.size for b in v if b.born <= at and not (b.died and b.died <= at)) for k, v in by_site.items()}
show(first(sorted(((k, v) for k, v in live_then.items() if v), key=lambda r: (-r[1], r[0]))))
leaked = group([b for b in done if not b.died], call_site)
# what is no stack has a name as a site, and none as a block
def block_name(k): return None if k == '(no stack)' else k
show(first(sorted(((block_name(k), len(v), sum(b.size for b in v)) for k, v in leaked.items()), key=lambda r: (-r[2], r[0] or ''))))
def up_to(b): return next((n for n in (16, 64, 256, 1024, 4096) if b.size <= n), 0)
show(sorted((k, len(v), sum(b.size for b in v)) for k, v in group(done, up_to).items()))
show(first(sorted(((k, sum(b.temporary for b in v), len(v)) for k, v in by_site.items() if any(b.temporary for b in v)), key=lambda r: (-r[1], r[0]))))
ended = group([b for b in done if b.died], call_site)
show(first(sorted(((block_name(k), len(v), max(b.died - b.born for b in v)) for k, v in ended.items()), key=lambda r: (-r[2], r[0] or ''))))
shapes = group([b for b in done if b.given is not None and b.given >= b.size], lambda b: (b.size, b.given))
show(first(sorted(((k[0], k[1], len(v), len(v) * (k[1] - k[0])) for k, v in shapes.items()), key=lambda r: (-r[3], r[0], r[1]))))
moved = group([b for b in done if b.died and b.tid is not None and b.freed_tid != b.tid], lambda b: (b.tid, b.freed_tid))
show(sorted((*k, len(v), sum(b.size for b in v)) for k, v in moved.items()))
show([(at, peak)])
calls = group(events, lambda e: e['call'])
show(sorted(((k, len(v), len({e['tid'] for e in v if 'tid' in e})) for k, v in calls.items()), key=lambda r: (-r[1], r[0])))
below = collections.defaultdict(lambda: [0, 0])
for b in done:
    for f in names[b.key]:
        below[f][0] += b.size
        below[f][1] += 1
show(first(sorted(((k, *v) for k, v in below.items()), key=lambda r: (-r[1], r[0]))))
