# SPDX-License-Identifier: BSD-2-Clause
# The calls of tests/vm/module/mz_calls.c in function_calls: calls.py SYMBOLS CALLS BY_PROCESS PID THREAD
import bisect
import collections
import sys

symbols, calls, by_process, pid, thread = sys.argv[1:]
functions = sorted((int(f[0], 16), f[2]) for f in map(str.split, open(symbols)) if f[1] in 'tTwW')
starts = [f[0] for f in functions]


def name(address):
    i = bisect.bisect_right(starts, address)
    return functions[i - 1][1] if i else '?'


def read(path):
    rows = collections.Counter()
    for line in open(path):
        f = line.split()
        if name(int(f[1], 16)) == 'mz_calls_target':
            assert int(f[1], 16) in starts, 'the function does not begin there: ' + line
            rows[(name(int(f[0], 16) - 1),) + tuple(f[3:])] += int(f[2])
    return rows


want = {'mz_calls_direct': (29, pid), 'mz_calls_pointer': (23, pid), 'mz_calls_interrupt': (11, '0'),
        'mz_calls_thread': (17, thread)}
failed = False
for what, got, expected in (
        ('calls', read(calls), {(k,): v[0] for k, v in want.items()}),
        ('calls by process', read(by_process), {(k, v[1]): v[0] for k, v in want.items()})):
    for key in sorted(set(got) | set(expected)):
        if got[key] == expected.get(key, 0):
            print('ok %s of %s: %d' % (what, ' '.join(key), got[key]))
        else:
            failed = True
            print('not ok %s of %s: %d, not %d' % (what, ' '.join(key), got[key], expected.get(key, 0)))
sys.exit(failed)
