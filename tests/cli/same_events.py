# SPDX-License-Identifier: BSD-2-Clause
"""The oracle: is the second trace a replay of the first, event by event and
thread by thread? Usage: same_events.py OLD NEW [--one-thread]

Both are text with serial numbers. NEW was recorded while a replay of OLD ran:
what counts is between its marks. A block is named by the thread that made it,
and which of that thread's blocks it is, so that the order between threads,
which may differ, does not matter. Threads of NEW are named by their marks."""
import re
import sys

LINE = re.compile(r'(\w+)\(([^)]*)\)(?: = (\w+)(?:<(\d+)>)?)?(.*)')


def read(path, replay, one):
    threads, names, tids, made = {}, {}, {}, {}
    going = not replay
    for line in open(path):
        m = LINE.match(line)
        if not m:
            sys.exit(f'{path}: not an event: {line}')
        call, args, result, tag, rest = m.groups()
        tid = re.search(r' tid=(\d+)', rest)
        tid = tid.group(1) if tid else '0'
        if call == 'mark':
            text = args.replace('%20', ' ')
            if text == 'replay thread ends':
                tids[tid] = None
            elif text.startswith('replay thread '):
                tids[tid] = int(text.split()[2])
            elif text == 'replay begins':
                going = True
            elif text == 'replay ends':
                going = False
            continue
        if call == 'lost':
            sys.exit(f'{path}: events were lost')
        if not going:
            continue
        if replay and not one and tids.get(tid) is None:
            continue  # not a thread of the replay
        label = 0 if one else tids.setdefault(tid, len(tids)) if not replay else tids[tid]
        out = [call]
        for a in args.split(', '):
            t = re.fullmatch(r'\w+<(\d+)>', a)
            if t:
                out.append(names.get(t.group(1), 'unknown'))
            elif call in ('free', 'realloc', 'reallocarray') and a is args.split(', ')[0]:
                out.append('NULL' if int(a, 16) == 0 else 'unknown')
            else:
                out.append(a)
        if tag:
            made[label] = made.get(label, 0) + 1
            names[tag] = (label, made[label])
            out.append(names[tag])
        elif result:
            out.append('NULL')
        threads.setdefault(label, []).append(tuple(out))
    return threads


one = '--one-thread' in sys.argv
old = read(sys.argv[1], False, one)
new = read(sys.argv[2], True, one)
total = 0
for label in sorted(old):
    a, b = old[label], new.get(label, [])
    total += len(a)
    for i, (x, y) in enumerate(zip(a, b)):
        if x != y:
            sys.exit(f'thread {label}, event {i + 1}: {x} became {y}')
    if len(a) != len(b):
        sys.exit(f'thread {label}: {len(a)} events became {len(b)}')
if set(new) - set(old):
    sys.exit(f'threads that were not there before: {sorted(set(new) - set(old))}')
print(f'{total} events in {len(old)} threads')
