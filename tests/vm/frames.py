# SPDX-License-Identifier: BSD-2-Clause
# The accesses of tests/vm/module/mz_frames.c in a kmap with fields:
# frames.py SYMBOLS FIELDS PID THREAD on|off TIMES
# TIMES: how often it was loaded so far with frames on. Stacks of interrupts do not end.
import bisect
import collections
import sys

symbols, fields, pid, thread, frames, times = sys.argv[1:]
WRITES, READS, BYTES = 23, 29, 48
functions = sorted((int(f[0], 16), f[2]) for f in map(str.split, open(symbols)) if f[1] in 'tTwW')
starts = [f[0] for f in functions]
failed = False


def name(address):
    i = bisect.bisect_right(starts, address)
    return functions[i - 1][1] if i else '?'


def expect(what, got, want):
    global failed
    if got == want:
        print('ok %s: %s' % (what, got))
    else:
        failed = True
        print('not ok %s: %s, not %s' % (what, got, want))


# How often the array of a function is touched: (function, whose stack, where from, by whom)
touch = 'mz_frames_touch'
on_frames = {
    ('mz_frames_own', pid, 'mz_frames_own', pid): 1,
    ('mz_frames_lend', pid, touch, pid): 2,
    ('mz_frames_pass', pid, touch, pid): 1,
    ('mz_frames_nest', pid, touch, pid): 3,
    ('mz_frames_recurse', pid, touch, pid): 5 * 2 + 4,
    ('mz_frames_any_size', pid, touch, pid): 1,
    ('mz_frames_call', pid, touch, pid): 3,
    ('mz_frames_arguments', pid, touch, pid): 1,
    ('mz_frames_wait', pid, touch, pid): 2,
    ('mz_frames_wait', pid, touch, '0'): 1,
    ('mz_frames_sleep', pid, touch, pid): 1,
    ('mz_frames_recurse', thread, touch, thread): 2 * 2 + 1,
    ('mz_frames_lend', thread, touch, thread): 1,
    ('mz_frames_interrupt', 'irq', touch, '0'): 1,
    ('mz_frames_recurse', 'irq', touch, '0'): 3 * 2 + 2,
    ('mz_frames_irq_work', 'irq', touch, '0'): 1,
}
for key in on_frames:
    if key[1] == 'irq':
        on_frames[key] *= int(times)
    elif frames == 'off':
        on_frames[key] = 0
# On the stack as a whole: what another task touches; everything, if frames are off.
on_stacks = {(touch, thread): 1} if frames == 'on' else \
    {('mz_frames_own', pid): 1, (touch, pid): 2 + 1 + 3 + 14 + 1 + 3 + 1 + 2 + 1, (touch, thread): 6 + 1}

framed = collections.defaultdict(lambda: [0, 0])
stacked = collections.defaultdict(lambda: [0, 0])
objects = collections.Counter()
total, odd, sizes = 0, [], {}
for line in open(fields):
    f = line.rstrip('\n').split(',')
    if not line.startswith(' '):
        kind = f[8]
        if kind == 'STACK_FRAME':
            at = int(f[0], 16)
            function = name(at)
            if at not in starts:
                odd.append(line)
            if function.startswith('mz_frames_'):
                # an interrupt that comes from user space uses the stack of that process
                whose = f[1] if f[1] in (pid, thread) else 'irq'
                objects[function, whose] += 1
                sizes[function, whose] = int(f[3])
        continue
    where, by, writes, reads = name(int(f[0], 16) - 1), f[1], int(f[2]), int(f[3])
    if kind == 'STACK_FRAME':
        total += writes + reads
    if not where.startswith('mz_frames_') or where not in (touch, 'mz_frames_own'):
        continue
    row = framed[function, whose, where, by] if kind == 'STACK_FRAME' else \
        stacked[where, by] if kind == 'STACK' else None
    if row is not None:
        row[0] += writes
        row[1] += reads

for key in sorted(set(framed) | set(on_frames)):
    n = on_frames.get(key, 0)
    expect('frames of %s on the stack of %s, touched in %s by %s' % key, framed[key], [n * WRITES, n * READS])
if frames == 'on':
    for key in sorted(set(stacked) | set(on_stacks)):
        n = on_stacks.get(key, 0)
        expect('stacks, touched in %s by %s' % key, stacked[key], [n * WRITES, n * READS])
else:
    for key in sorted(on_stacks):
        n = on_stacks[key]
        expect('stacks, touched in %s by %s' % key, stacked[key], [n * WRITES, n * READS])
expect('frames begin at functions', odd[:2], [])
if frames == 'on':
    own = {k: v for k, v in objects.items() if k[1] in (pid, thread)}
    expect('one object for each function and process', {k for k, v in own.items() if v != 1}, set())
    small = {k: s for k, s in sizes.items() if not BYTES + 8 <= s <= 4096}
    expect('a frame has room for the array and the return address', small, {})
print('#total %d' % total)
sys.exit(failed)
