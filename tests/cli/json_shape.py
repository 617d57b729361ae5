#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The members of the JSON of report, for programs and for kernels.

    json_shape.py make SEED PROGRAM KERNEL   random blocks, as a trace of each
    json_shape.py check KIND REPORT...       is each report as declared, and no value there twice?
    json_shape.py same REPORT REPORT         does what both have have the same value?

A value is there twice if two members have the same value in all reports (or in all rows of a
list). The traces are made so that no two sums are equal by chance in all of them.
"""
import itertools, json, os, random, sys

number, text, truth, real = int, str, bool, (int, float)

# ---- the declaration: what both have, and what one of them adds ---------------------------------
BOTH = dict.fromkeys(('events', 'files_cut', 'blocks', 'bytes', 'peak_bytes', 'peak_blocks', 'peak_event', 'peak_time',
                      'never_freed_blocks', 'never_freed_bytes', 'waste_bytes', 'waste_at_peak', 'failed',
                      'null_frees', 'unknown_frees', 'over_live'), number)
BOTH.update(kind=text, lost=dict, sites=dict)
PROGRAM = dict.fromkeys(('threads', 'temporary_blocks', 'suppressed_blocks', 'suppressed_bytes'), number)
PROGRAM.update(calls=dict, command=text, pools=list)
SUMS = dict.fromkeys(('bytes', 'never_freed_blocks', 'never_freed_bytes', 'waste_bytes', 'failed', 'over_live'), number)
GIVEN = dict.fromkeys(('given_bytes', 'freed_given_bytes', 'never_freed_given_bytes', 'highest_given_bytes',
                       'highest_blocks', 'freed_blocks', 'cross_cpu', 'cross_node', 'lifetime_p50', 'lifetime_p99',
                       'oldest_age'), number)
GIVEN.update(fragmentation=real)
KERNEL = dict(GIVEN, **dict.fromkeys(('duration', 'own', 'largest_block'), number))
KERNEL.update(kernel=text, time_unit=text, bounded_by_loss=truth, allocators=dict, subsystems=list, caches=list,
              worst_blocks=list, cpu_matrix=list, node_matrix=list, inconsistencies=dict, findings=list, advice=list)
SITE = dict(where=text, ip=text, blocks=number, value=real)
PROGRAM_SITE = dict(SITE, caller=text, stack=list)
NEVER_FREED = dict(SITE, never_freed_given_bytes=number, oldest_age=number)
KERNEL_SITE = dict(SITE, frees_made=number, **SUMS, **GIVEN)
LIVE = dict.fromkeys(('never_freed_blocks', 'never_freed_bytes', 'never_freed_given_bytes', 'waste_at_end'), number)
ROWS = dict(
    caches=dict(cache=text, blocks=number, unknown_frees=number, **SUMS, **GIVEN),
    subsystems=dict(LIVE, name=text),
    worst_blocks=dict(address=text, size=number, given=number, cache=text, where=text, time=number, cpu=number,
                      lifetime=number, freed_cpu=number),
    findings={'class': text, 'what': text, 'address': text, 'cpu': number, 'from': number, 'to': number,
              'where': text, 'where2': text, 'cache': text, 'cache2': text},
    advice=dict.fromkeys(('size', 'given', 'own_cache', 'blocks', 'highest_blocks', 'saves'), number) | dict(where=text),
    pools=dict.fromkeys(('blocks', 'bytes', 'at_peak', 'never_freed_blocks', 'never_freed_bytes', 'temporary_blocks'), number) | dict(name=text))
LISTS = dict(user=('at_peak', 'churn', 'waste', 'never_freed', 'temporary'),
             kernel=('waste', 'given', 'count', 'frag', 'live', 'peak', 'lifetime', 'cross', 'never_freed'))
# the value of these lists is a number of blocks
COUNTS = ('count', 'temporary')
CAUSES = ('total', 'ring_full', 'reentry', 'damage', 'no_memory', 'filter', 'sandbox', 'sampled', 'unknown')


def shaped(where, got, want, needed=()):
    for key, value in got.items():
        assert key in want, '%s: %s is not declared' % (where, key)
        assert isinstance(value, want[key]) and (isinstance(value, bool) == (want[key] is truth)), (where, key, value)
    for key in needed:
        assert key in got, '%s: no %s' % (where, key)


def leaves(d, path=''):
    """The numbers of an object, by their paths; without those of lists."""
    for key, value in d.items():
        if isinstance(value, dict):
            yield from leaves(value, path + key + '.')
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield path + key, value


def once(where, objects, may=()):
    """No two members have the same value in all of the objects."""
    flat = [dict(leaves(o)) for o in objects]
    for a, b in itertools.combinations(sorted(set().union(*flat)), 2):
        if {a, b} == set(may) or not any(f.get(a) for f in flat):
            continue
        assert any(f.get(a) != f.get(b) for f in flat), '%s: %s and %s are the same value' % (where, a, b)


def rows_of(report):
    for name in ROWS:
        if name in report:
            yield name, report[name], ROWS[name]
    for name, rows in report['sites'].items():
        row = PROGRAM_SITE if report['kind'] == 'user' else NEVER_FREED if name == 'never_freed' else KERNEL_SITE
        yield 'sites.' + name, rows, row


def check(kind, *paths):
    reports = [json.load(open(p)) for p in paths]
    own = PROGRAM if kind == 'user' else KERNEL
    lists, tables = LISTS[kind], {}
    for d in reports:
        assert d['kind'] == kind, d['kind']
        shaped('report', d, dict(BOTH, **own), BOTH)
        shaped('lost', {k: v for k, v in d['lost'].items() if k != 'intervals'}, dict.fromkeys(CAUSES, number), ['total'])
        for row in d['lost'].get('intervals', []):
            shaped('lost.intervals', row, {'cpu': number, 'cause': text, 'events': number, 'from': number, 'to': number})
        shaped('sites', d['sites'], dict.fromkeys(lists, list), {'never_freed'})
        for name, v in d.get('allocators', {}).items():
            shaped('allocators.' + name, v, dict(LIVE, blocks=number), LIVE)
        for name, rows, want in rows_of(d):
            for row in rows:
                shaped(name, row, want, SITE if name.startswith('sites') else ())
            tables.setdefault(name, []).extend(rows)
    once('report', [{k: v for k, v in d.items() if k not in ('allocators', 'inconsistencies', 'calls')} for d in reports])
    for name, rows in tables.items():
        assert len(rows) > 5 or name in ('subsystems', 'pools', 'findings'), (name, len(rows))
        once(name, rows, ('blocks', 'value') if name.split('.')[-1] in COUNTS else ())
    for name in reports[0].get('allocators', {}):
        once('allocators.' + name, [d['allocators'][name] for d in reports])


def same(program, kernel):
    """The reports are of the same blocks."""
    a, b = json.load(open(program)), json.load(open(kernel))
    b['lost'].pop('intervals')
    for key in set(BOTH) - {'kind', 'sites'}:
        assert a[key] == b[key], (key, a[key], b[key])
    for name in set(a['sites']) & set(b['sites']):
        lists = [sorted([r[k] for k in SITE] for r in d['sites'][name] if r['value']) for d in (a, b)]
        assert lists[0] and lists[0] == lists[1], (name, lists)


# ---- traces ----------------------------------------------------------------------------------------

def steps(r):
    """Random blocks: (what, address, size, given, place), with all that a report counts."""
    live, n = [], 0
    for _ in range(1500 + r.randrange(500)):
        x = r.random()
        if x < 0.01:
            yield 'fail', 0, 1 + r.randrange(900), 0, r.randrange(7)
        elif x < 0.03:
            yield 'free', 0xffff888900000000 + 4096 * r.randrange(1 << 16), 0, 0, r.randrange(7)
        elif x < 0.04 and live:
            yield 'alloc', r.choice(live), 1 + r.randrange(60), 64, 3
        elif x < 0.55 or not live:
            n, size = n + 1, 1 + r.randrange(60) * (1 + r.randrange(9))
            live.append(0xffff888000000000 + 4096 * n)
            yield 'alloc', live[-1], size, (size + 63) & ~63, r.randrange(7)
        else:
            yield 'free', live.pop(r.randrange(len(live))), 0, 0, r.randrange(7)


CALLS = (('kmalloc', 'kfree'), ('page_alloc', 'page_free'), ('vmalloc', 'vfree'))


def make(seed, program, kernel):
    r, t, of = random.Random(int(seed)), 5000, {}
    os.mkdir(kernel)
    cpus = [open('%s/cpu%d.out' % (kernel, i), 'w') for i in range(4)]
    open(kernel + '/nodes', 'w').write('0 0\n1 0\n2 1\n3 1\n')
    user = open(program, 'w')
    for what, addr, size, given, place in steps(r):
        t, cpu = t + 1 + r.randrange(90), r.randrange(4)
        if what == 'alloc':
            of.setdefault(addr, r.randrange(3))
        alloc, free = CALLS[of.get(addr, 0)]
        rest = ' time=%d cpu=%d%%s stack=%x\n' % (t, cpu, 0xffffffff81000010 + 256 * place)
        if what == 'free':
            user.write('free(%x)' % addr + rest % (' tid=%d' % (cpu + 7)))
            cpus[cpu].write('%s(%x)' % (free, addr) + rest % '')
        else:
            user.write('malloc(%d) = %x' % (size, addr) + rest % (' given=%d tid=%d' % (given, cpu + 7)))
            cpus[cpu].write('%s(%d) = %x' % (alloc, size, addr) + rest % (' given=%d' % given))
    for i, cause in enumerate(('ring_full', 'reentry', 'ring_full')):
        line = 'lost(%d) cause=%s time=%d cpu=%d\n' % (3 + r.randrange(40), cause, t + 1 + i, i)
        user.write(line)
        cpus[i].write(line)


{'make': make, 'check': check, 'same': same}[sys.argv[1]](*sys.argv[2:])
