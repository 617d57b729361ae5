# SPDX-License-Identifier: BSD-2-Clause
"""Upstream's files against ours, all of one guest: upstream.py ALLOCATIONS ACCESSES KMAP
GLOBALS GLOBAL_TABLE SYMBOLS. KMAP is of print_fields; GLOBALS has the lines of variables in
`allocations`. Prints ok and not ok lines, and "sums OBJECTS READS WRITES"."""
import collections
import sys

allocations, accesses, kmap, globals_, table, symbols = sys.argv[1:]
failed = False


def check(what, wrong):
    global failed
    failed |= bool(wrong)
    print('not ok %s: %s' % (what, wrong) if wrong else 'ok ' + what)


def lines(path):
    return open(path, errors='replace').read().splitlines()


rows = lines(allocations)
check('the header of allocations', rows[0] != 'alloc_ip,pid,ptr,size,alloc_serial,free_serial,'
      'free_ip,type,slab,new_type' and rows[0])
objects = {}
for line in rows[1:]:
    f = line.split(',')
    assert len(f) == 11, 'not 11 fields: ' + line
    assert f[4] not in objects, 'two objects with the serial number ' + f[4]
    objects[f[4]] = f
touched = lines(accesses)
check('the header of accesses', touched[0] != 'alloc_index,access_ip,pid,writes,reads' and touched[0])
sites = collections.defaultdict(list)
for line in touched[1:]:
    serial, ip, pid, writes, reads = line.split(',')
    sites[serial].append((ip, pid, int(writes), int(reads)))

# The same objects with the same accesses are in kmap, each as often.
ours = collections.Counter()
times = collections.defaultdict(list)
key = None
for line in lines(kmap) + ['']:
    f = line.strip().split(',')
    if line.startswith('  '):
        pid = f[1] if f[1] != '-1' else '18446744073709551615'
        key[-1].append((f[0], pid, int(f[2]), int(f[3])))
        continue
    if key:
        ours[tuple(key[:-1]) + tuple(sorted(key[-1]))] += 1
    if line:
        key = f[:4] + f[6:10] + [[]]
        times[tuple(f[:4] + f[6:8])].append((int(f[4]), int(f[5])))
theirs = collections.Counter()
for serial, f in objects.items():
    head = [f[0].strip().zfill(16)] + f[1:4] + [f[6], f[8], f[7], f[9] if f[9] != 'no-slab' else '']
    theirs[tuple(head) + tuple(sorted(sites.get(serial, [])))] += 1
missing = theirs - ours
check('%d objects of allocations with their %d accesses are in kmap' % (len(objects), sum(map(len, sites.values()))),
      [k for k in missing][:2])
check('they are the session', sum(v for k, v in ours.items() if k[3] == '1048' and k[5] == 'helper') < 100 and 'too few')
check('every free has a later number', [f for f in objects.values() if int(f[5]) <= int(f[4])][:1])
numbers = [int(n) for f in objects.values() for n in f[4:6]]
check('no number occurs twice', len(numbers) - len(set(numbers)))
# Where an object can be told by its fields: numbers and times have the same order.
whose = {tuple([f[0].strip().zfill(16)] + f[1:4] + [f[6], f[8]]): (int(f[4]), int(f[5])) for f in objects.values()}
alone = [k for k in whose if len(times[k]) == 1]
for which, what in (0, 'allocations'), (1, 'frees'):
    order = [times[k][0][which] for k in sorted(alone, key=lambda k: whose[k][which]) if times[k][0][which]]
    check('%d %s are numbered in the order of their times' % (len(order), what), len(order) < 20 or order != sorted(order))

names = collections.defaultdict(set)
for line in lines(symbols):
    f = line.split()
    names[f[0]].add(f[2])
last = lines(table)[-1]
rows = [line.split(' ') for line in lines(table)[:-1]]
check('global_table ends with an empty line', last and repr(last))
check('its %d lines have four fields' % len(rows), [r for r in rows if len(r) != 4][:1])
check('the names are those of kallsyms', [r for r in rows if r[2] not in names[r[0]]][:2])
known = {(r[0], r[1]) for r in rows}
variables = [line.split(',') for line in lines(globals_)]
check('%d variables that were touched are in it, with their sizes' % len(variables),
      len(variables) < 100 and 'too few' or [v for v in variables if (v[2], v[3]) not in known][:2])
check('each has a size', [r for r in rows if r[1] == '0'][:2])
check('a variable that everybody knows', not any(r[2] in ('jiffies', 'jiffies_64') for r in rows) and 'no jiffies')
print('sums', len(objects), sum(s[3] for v in sites.values() for s in v), sum(s[2] for v in sites.values() for s in v))
sys.exit(failed)
