# SPDX-License-Identifier: BSD-2-Clause
"""The data of a page against what the other verbs say of the same recording.

html_page.py data PAGE                      the data, as JSON
html_page.py user PAGE REPORT [AGES PAGES]  reports as JSON; with lifetimes and overhead
html_page.py kernel PAGE REPORT EVENTS      REPORT with --limit 0; EVENTS: the text of the trace
html_page.py stacks PAGE EVENTS KALLSYMS    a kernel's flame graph by stack, from the events in order
html_page.py kmap PAGE REPORT MAP ANSWER... REPORT and answers of `kmap`, as JSON, all rows;
                                            LEVEL=ANSWER: its matrix at a level
html_page.py calls PAGE CALLS ANSWER...     CALLS: the lines of the kernel; LEVEL=ANSWER: `kmap calls`
                                            as CSV; else matrices by dir and file, as JSON
"""
import csv
import json
import re
import sys

FLAME = ('peak', 'total', 'never_freed', 'temporary', 'wasted')
bad = []


def data(path):
    page = open(path, encoding='ascii').read()
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert len(found) == 1, 'the page has its data once'
    return json.loads(found[0])


def same(what, got, wanted):
    if got != wanted:
        bad.append('%s: the page has %s, the witness %s' % (what, got, wanted))


def doublings(values):
    """Counts by power of two, as the page has them; 0 and 1 share the first."""
    out = [0] * (max(values, default=0).bit_length() or 1)
    for v, n in values.items():
        out[max(v.bit_length() - 1, 0)] += n
    return out


def tree(rec, totals):
    """Roots are the totals, and every node is at least what is below it."""
    for key, f in rec['flames'].items():
        for value in FLAME:
            v = f[value]
            same('%s of flame graph %s' % (value, key), v[0], totals[value])
            below = [0] * len(v)
            for i in range(1, len(v)):
                assert f['parent'][i] < len(v)
                below[f['parent'][i]] += v[i]
            same('what is below in %s of %s' % (value, key), [i for i in range(len(v)) if below[i] > v[i]], [])


def column(table, key):
    i = [c['key'] for c in table['columns']].index(key)
    return [r[i] for r in table['rows']]


def curve(rec, peak, end):
    same('the most of the curve', max(rec['curve']['high'], default=0), peak)
    if rec['curve']['live']:
        same('the end of the curve', rec['curve']['live'][-1], end)


def space(rec, end):
    cells = rec['space']['cells']
    same('live bytes in the last column of the map', sum(r[-1] for r in cells), end)
    same('nothing below 0 in the map', min(min(r) for r in cells) >= 0, True)


def user(page, report, ages=None, pages=None):
    rec = data(page)['recordings'][0]
    want = json.load(open(report))
    sites = want.pop('sites')
    same('whole stacks', rec.get('stacks'), want.pop('stacks', None))
    same('kind', rec['kind'], 'user')
    same('kind', rec['kind'], want.pop('kind'))
    same('summary', rec['summary'], want)
    curve(rec, want['peak_bytes'], want['never_freed_bytes'])
    same('blocks in the histogram of sizes', rec['sizes']['count'], want['blocks'])
    if rec['flames']:
        tree(rec, dict(peak=want['peak_bytes'], total=want['bytes'], never_freed=want['never_freed_bytes'],
                       temporary=want['temporary_blocks'], wasted=want.get('waste_bytes', 0)))
        t = rec['tables']['sites']
        for key, mine in (('at_peak', 'at_peak'), ('churn', 'bytes'), ('never_freed', 'never_freed'), ('waste', 'waste'),
                          ('temporary', 'temporary')):
            got = sorted((v for v in column(t, mine) if v), reverse=True)
            same('call sites by ' + key, got, [s['value'] for s in sites[key]])
    if ages:
        by_age, by_size = {}, {}
        for row in json.load(open(ages)):
            by_age[row['lifetime']] = by_age.get(row['lifetime'], 0) + row['count']
        same('lifetimes', rec['ages']['doublings'], doublings(by_age))
        same('freed blocks', rec['ages']['count'], sum(by_age.values()))
    if pages:
        p = json.load(open(pages))
        same('peak pages', rec['pages']['peak_pages'], p['peak_pages'])
        same('pages at the end', (rec['pages']['end_pages'], rec['pages']['end_bytes']), (p['end_pages'], p['end_bytes']))
        same('pages over time', [(x[1], x[2]) for x in rec['pages']['points']],
             [(x['live_bytes'], x['pages']) for x in p['over_time']])
        space(rec, p['end_bytes'])


def temporary(events):
    """Blocks that their CPU freed before it allocated again, from the text."""
    turn, live, n = {}, {}, 0
    for line in open(events):
        cpu = re.search(r' cpu=(\d+)', line)
        m = re.match(r'(?:kmalloc|kmem_cache_alloc)\(\d+\) = (\w+)', line)
        if m:
            turn[cpu[1]] = turn.get(cpu[1], 0) + 1
            live[m[1]] = (cpu[1], turn[cpu[1]])
        m = re.match(r'(?:kfree|kmem_cache_free)\((\w+)\)', line)
        if m:
            n += live.pop(m[1], None) == (cpu[1], turn.get(cpu[1]))
    return n


# the columns of the page's tables, and the members of the report that they show
KERNEL_COLUMNS = dict(allocations='blocks', allocated='given_bytes', wasted='waste_bytes',
                      live='never_freed_given_bytes', peak='highest_given_bytes',
                      lifetime_median='lifetime_p50', lifetime_99='lifetime_p99',
                      cross_cpu='cross_cpu', failed='failed')


def kernel(page, report, events):
    rec = data(page)['recordings'][0]
    want = json.load(open(report))
    same('kind', rec['kind'], want['kind'])
    for key in ('events', 'duration', 'lost', 'blocks', 'bytes', 'given_bytes', 'highest_given_bytes', 'never_freed_given_bytes', 'waste_bytes', 'files_cut', 'null_frees'):
        same(key, rec['summary'][key], want[key])
    peak, live = want['highest_given_bytes'], want['never_freed_given_bytes']
    curve(rec, peak, live)
    space(rec, live)
    same('temporary', rec['summary']['temporary_blocks'], temporary(events))
    tree(rec, dict(peak=peak, total=want['given_bytes'], never_freed=live, wasted=want['waste_bytes'],
                   temporary=rec['summary']['temporary_blocks']))
    for table in ('sites', 'caches'):
        got = {r[0]: r for r in rec['tables'][table]['rows']}
        rows = want['sites']['waste'] if table == 'sites' else want['caches']
        name = 'where' if table == 'sites' else 'cache'
        same('names of ' + table, sorted(got), sorted(r[name] for r in rows))
        keys = [c['key'] for c in rec['tables'][table]['columns']]
        for row in rows:
            for key, member in KERNEL_COLUMNS.items():
                member = 'value' if table == 'sites' and member == 'waste_bytes' else member
                same('%s of %s' % (key, row[name]), got[row[name]][keys.index(key)], row.get(member))
        same('bytes at the peak by ' + table, sum(column(rec['tables'][table], 'at_peak')), peak)
    same('CPUs', rec['cpus']['matrix'], want['cpu_matrix'])
    same('inconsistencies', rec['inconsistencies'], want['inconsistencies'])
    same('freed blocks', rec['ages']['count'], want['freed_blocks'])


def stacks(page, events, kallsyms):
    """Every stack of functions with what its blocks are together, from the text."""
    syms = sorted((int(f[0], 16), f[2]) for f in map(str.split, open(kallsyms)))

    def function(ip):
        return [name for start, name in syms if start <= ip][-1]

    live, sums, now, most = {}, {}, 0, 0
    for line in open(events):
        m = re.match(r'kmalloc\((\d+)\) = (\w+) .*given=(\d+) .*stack=(\S+)', line)
        if m:
            ips = [int(v, 16) for v in m[4].split(',')]
            names = tuple(function(v) for v in reversed(ips))
            # a site alone stands with its offset
            path = names if len(ips) > 1 else ('%s+0x%x' % (names[0], ips[0] & 255),)
            live[m[2]] = path, int(m[3])
            now += int(m[3])
            s = sums.setdefault(path, dict.fromkeys(('total', 'wasted', 'peak', 'never_freed'), 0))
            s['total'] += int(m[3])
            s['wasted'] += int(m[3]) - int(m[1])
            if now > most:
                most, peak = now, list(live.values())
        m = re.match(r'kfree\((\w+)\)', line)
        if m:
            now -= live.pop(m[1])[1]
    for key, blocks in (('peak', peak), ('never_freed', live.values())):
        for path, size in blocks:
            sums[path][key] += size
    f = data(page)['recordings'][0]['flames']['stack']
    same('nothing is folded', f['folded'], 0)
    paths = [()]
    for i in range(1, len(f['name'])):
        paths.append(paths[f['parent'][i]] + (f['names'][f['name'][i]],))
    same('every path once', len(set(paths)), len(paths))
    for key in ('total', 'wasted', 'peak', 'never_freed'):
        want = dict.fromkeys(paths, 0)
        for path, s in sums.items():
            for n in range(len(path) + 1):
                want[path[:n]] = want.get(path[:n], 0) + s[key]
        got = dict(zip(paths, f[key]))
        same('%s by stack' % key, sorted(set(got.items()) - set(want.items()))[:5], sorted(set(want.items()) - set(got.items()))[:5])


LEVELS = ('dir', 'file', 'function')


def links(rec, level, net='access'):
    """The two counts of pairs by their names at a level, from the pairs of functions."""
    a, out = rec[net], {}
    name = lambda node: a['names'][a['nodes'][3 * node + LEVELS.index(level)]]
    for i in range(0, len(a['links']), 4):
        key = name(a['links'][i]), name(a['links'][i + 1])
        was = out.get(key, (0, 0))
        out[key] = was[0] + a['links'][i + 2], was[1] + a['links'][i + 3]
    return out


def calls(page, path, *answers):
    rec = data(page)['recordings'][0]
    c = rec['calls']
    same('nothing is folded', c['folded'], 0)
    same('calls in all', sum(c['links'][3::4]), sum(int(line.split()[2]) for line in open(path)))
    name = lambda node, level: c['names'][c['nodes'][3 * node + LEVELS.index(level)]]
    for a in answers:
        level, _, file = a.rpartition('=')
        if level:
            rows = list(csv.DictReader(open(file)))
            same('calls by ' + level, links(rec, level, 'calls'), {(r['caller'], r['callee']): (int(r['edges']), int(r['calls'])) for r in rows})
            same('they are many', len(rows) > 100, True)
            continue
        # every access of a file or a directory is one of its code
        want, got = {}, {}
        level = file.partition('.')[0]
        for r in json.load(open(file))['matrix']:
            was = want.get(r['accessor'], (0, 0))
            want[r['accessor']] = was[0] + r['reads'], was[1] + r['writes']
        for i in range(0, len(c['deeds']), 3):
            key = name(c['deeds'][i], level)
            was = got.get(key, (0, 0))
            got[key] = was[0] + c['deeds'][i + 1], was[1] + c['deeds'][i + 2]
        same('accesses of the callers and the called by ' + level, got, want)


def answer(rec, path):
    for key, rows in json.load(open(path)).items():
        t = rec['tables'][key]
        keys = [c['key'] for c in t['columns']]
        same('rows of ' + key, [dict(zip(keys, r)) for r in t['rows']], rows[:len(t['rows'])])
        same('all of ' + key, (t['all'], t['folded']), (len(rows), len(rows) - len(t['rows'])))


def groups(path, types):
    """Objects and bytes by type or cache, from the lines of the map."""
    out = {}
    for line in open(path, errors='replace'):
        f = line.rstrip('\n').split(',')
        if line.startswith(' ') or len(f) < 8:
            continue
        name = (f[7] if types else f[-2] if len(f) > 10 else f[9]) if len(f) >= 10 else '(not known)'
        was = out.get(name, (0, 0))
        out[name] = was[0] + 1, was[1] + int(f[3])
    return out


def places(rec, path):
    """Every cell of the map of addresses, and the variables left out, from the lines."""
    s, size, left = rec['space'], rec['space']['row_bytes'], [0, 0]
    start, columns = rec['curve']['first'] - s['before'], len(s['cells'][0])
    rows = {int(a, 16): [0] * (columns + 1) for a in s['from']}
    for line in open(path, errors='replace'):
        f = line.rstrip('\n').split(',')
        if line.startswith(' ') or len(f) < 8:
            continue
        ip, va, free_ip = (0 if v == '(null)' else int(v, 16) for v in (f[0], f[2], f[6]))
        n, born, died = int(f[3]), int(f[4]), int(f[5])
        if not ip or (len(f) >= 10 and re.match('GLOBAL|UFO_GLOBAL$', f[7])):
            left = [left[0] + 1, left[1] + n]
            continue
        first = (born - start) // s['width'] if born else 0
        last = (died - start) // s['width'] if born and (died or free_ip) and died >= born else columns
        for row in range(va // size * size, va + n, size):
            part = min(va + n, row + size) - max(va, row)
            rows[row][first] += part
            rows[row][last] -= part
    for changes in rows.values():
        for k in range(1, columns):
            changes[k] += changes[k - 1]
    same('the map of addresses', s['cells'], [rows[a][:-1] for a in sorted(rows)])
    same('variables', rec['variables'], dict(zip(('objects', 'bytes'), left)))


def kmap(page, report, path, *answers):
    rec = data(page)['recordings'][0]
    want = json.load(open(report))
    same('kind', rec['kind'], 'kmap')
    same('summary', rec['summary'], {k: want[k] for k in rec['summary']})
    live = dict(total=want['all']['bytes'], never_freed=want['all']['bytes'] - want['freed']['bytes'],
                untouched=want['untouched']['bytes'], reads=want['reads'], writes=want['writes'])
    for key, f in rec['flames'].items():
        for value in [v for v in live if v in f]:
            same('%s of flame graph %s' % (value, key), f[value][0], live[value])
            same('what is below the root', sum(v for v, p in zip(f[value][1:], f['parent'][1:]) if p == 0), f[value][0])
    same('reads and writes of the pairs', tuple(map(sum, zip((0, 0), *links(rec, 'dir').values()))), (want['reads'], want['writes']))
    if 'curve' in rec:
        same('the most of the curve', max(rec['curve']['live']), want['live_peak']['bytes'])
        same('the end of the curve', rec['curve']['live'][-1], live['never_freed'])
        places(rec, path)
    same('sizes', rec['sizes']['count'], want['all']['objects'])
    for table in ('caches', 'types'):
        t = rec['tables'][table]
        got = dict(zip(column(t, table[:-1]), zip(column(t, 'objects'), column(t, 'bytes'))))
        same(table, got, groups(path, table == 'types'))
    o = rec['objects']
    same('kinds', o['table']['all'], want['kinds'])
    for row in o['table']['rows']:
        touched = o['who'][str(row[8])][2]
        same('reads and writes of ' + row[0], (sum(touched[1::3]), sum(touched[2::3])), (row[6], row[7]))
        same('objects of ' + row[0], sum(o['who'][str(row[8])][0][1::3]), row[2])
    for a in answers:
        level, _, file = a.rpartition('=')
        if not level:
            answer(rec, file)
            continue
        rows = json.load(open(file))['matrix']
        same('matrix by ' + level, links(rec, level), {(r['accessor'], r['owner']): (r['reads'], r['writes']) for r in rows})


if sys.argv[1] == 'data':
    print(json.dumps(data(sys.argv[2])))
else:
    {'user': user, 'kernel': kernel, 'stacks': stacks, 'kmap': kmap, 'calls': calls}[sys.argv[1]](*sys.argv[2:])
sys.exit('\n'.join(bad) or 0)
