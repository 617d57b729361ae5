# SPDX-License-Identifier: BSD-2-Clause
"""The file stats, in upstream's layout: upstream_stats.py BY_TYPE STATS OURS DROPPED. BY_TYPE
has the accesses that kmap shows, by type, at the time of STATS. OURS is show_stats at the
time of DROPPED, which is stats once more. Prints ok and not ok lines."""
import re
import sys

by_type, stats, ours, dropped = sys.argv[1:]
failed = False
SECTION = r'------- (.*) -------'
ROW = r'  (?=.{14}[ \d])(\S[\w ]*:) *(\d+)'
TYPE = r'   (\w+) *: +(\d+), +(\d+)( --- \d+% hit rate)?'


def check(what, wrong):
    global failed
    failed |= bool(wrong)
    print('not ok %s: %s' % (what, wrong) if wrong else 'ok ' + what)


def misprinted(line):
    """A line is what upstream's format strings make of its own words and numbers."""
    if re.fullmatch(SECTION, line):
        return False
    m = re.fullmatch(ROW, line)
    if m:
        return line != '  %-14s%16d' % (m[1], int(m[2]))
    m = re.fullmatch(TYPE, line)
    return not m or line != '   %-15s: %16d, %16d%s' % (m[1], int(m[2]), int(m[3]), m[4] or '')


def sections(path):
    out, at = {}, None
    for line in open(path).read().splitlines():
        if re.fullmatch(SECTION, line):
            at = out.setdefault(re.fullmatch(SECTION, line)[1], {})
        else:
            label, numbers = line.split(':', 1)
            at[label.strip()] = [int(n) for n in re.findall(r'\d+', numbers)]
    return out


def show_stats(path):
    out, at = {}, None
    for line in open(path):
        f = line.split()
        if not line.startswith(' '):
            at = out.setdefault(f[0], {})
        elif at is out.get('types'):
            at[f[0]] = [int(f[1]), int(f[2])]
        elif not line.startswith('    '):
            at[' '.join(f[:-1])] = int(f[-1])
    return out


lines = open(stats).read().splitlines()
check('%d lines of stats are as upstream prints them' % len(lines), len(lines) < 40 and 'too few' or [x for x in lines if misprinted(x)][:2])
s, late, mine = sections(stats), sections(dropped), show_stats(ours)
check('its sections', list(s) != ['Memory Accesses', 'Per Object Access Count (hit/miss)', 'Tracked Memory Allocations',
                                  'Missing Allocs', 'Internal Allocs', 'Memory Usage'] and list(s))
check('its accesses', list(s['Memory Accesses']) != ['Tracked', 'Missing', 'Induced', 'Disabled', 'Total Obs'] and list(s['Memory Accesses']))

hits = s['Per Object Access Count (hit/miss)']
total = hits.pop('Total')
got = {k: v[0] for k, v in hits.items() if v[0]}
want = {k: int(n) for k, n in map(str.split, open(by_type)) if int(n)}
# Pages that became the memory of other objects are none in kmap, but were touched before.
pages = got.pop('ALLOC_PAGES', 0), want.pop('ALLOC_PAGES', 0)
check('%d accesses to objects of %d types are those of kmap' % (sum(want.values()), len(want)),
      (len(want) < 4 and 'too few types') or got != want and (got, want))
check('accesses to pages are those of kmap, and before they became other objects', pages[0] < pages[1] and pages)
for i, label in (0, 'Tracked'), (1, 'Missing'):
    check('the types add up: ' + label, {sum(v[i] for v in hits.values()), total[i]} != set(s['Memory Accesses'][label]) and (hits, total))
check('the hit rate', total[2] != 100 * total[0] // (total[0] + total[1]) and total)

a = {k: v[0] for k, v in late['Memory Accesses'].items()}
check('tracked is what show_stats has counted', a['Tracked'] != mine['accesses']['counted'] and (a, mine['accesses']))
check('with what was dropped', a['Tracked'] <= s['Memory Accesses']['Tracked'][0] and a)
check('missing', a['Missing'] != mine['accesses']['to no object'] + mine['accesses']['missed'] and (a, mine['accesses']))
check('observed', a['Total Obs'] != mine['accesses']['seen'] and (a, mine['accesses']))
late_hits = late['Per Object Access Count (hit/miss)']
check('by type, too', late_hits['Total'][0] != sum(v[0] for k, v in late_hits.items() if k != 'Total') or late_hits['Total'][0] != a['Tracked'])
allocated = {k: v for k, v in late['Tracked Memory Allocations'].items() if k != 'Total'}
check('allocations by type', list(allocated) != list(mine['types']) and list(allocated))
# objects still come and go
check('they are those of show_stats', [k for k, v in mine['types'].items() if not v[0] <= allocated[k][0] <= v[0] + 1000 or
                                       allocated[k][1] > allocated[k][0]])
check('missing allocations', sum(v[0] for v in late['Missing Allocs'].values()) != mine['objects']['missed'] and late['Missing Allocs'])
check('the budget', late['Memory Usage']['Budget'][0] != mine['memory']['budget'] and late['Memory Usage'])
sys.exit(failed)
