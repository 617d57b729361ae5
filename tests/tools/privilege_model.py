# SPDX-License-Identifier: BSD-2-Clause
"""The privilege measures, slowly and as they are defined, of KMAPs and a table of functions:

    privilege_model.py [--globals TABLE] FUNCTIONS.csv MAP...
                                               JSON as `memorizer kmap privilege --json` has it
    privilege_model.py --random SEED FOLDER    random tables and maps with calls
    privilege_model.py --compare A B           the figures of two such outputs agree
    privilege_model.py --price CUT FUNCTIONS.csv MAP...
                                               what a cut of `kmap cut -o` costs, as its JSON has it
    privilege_model.py --check CUT FUNCTIONS.csv MAP...
                                               what it would deny: all, functions, objects, others, ways
"""
import collections
import csv
import json
import os
import random
import re
import sys

OPS = ('read', 'write', 'call', 'return', 'free')
HEAP = ('KMALLOC', 'KMALLOC_ND', 'KMEM_CACHE', 'KMEM_CACHE_ND', 'ALLOC_PAGES', 'STACK_FRAME', 'STACK_ARGS')
OPEN = ('THREAD_STACK', 'VMEMMAP', 'MEMBLOCK')
DROPPED = ('BUG', 'INDUCED_ALLOC', 'MEMORIZER', 'NONE', 'USER')


class Function:
    def __init__(self, name, path):
        self.name, self.path = name, path
        self.size, self.ops, self.parts = 0, dict.fromkeys(OPS, 0), []


def read_functions(path):
    found = {}
    for row in csv.DictReader(open(path)):
        f = found.setdefault((row['name'], row['file']), Function(row['name'], row['file']))
        f.size += int(row['size'])
        f.parts.append((int(row['start'], 16), int(row['size'])))
        for op in OPS:
            f.ops[op] += int(row[op])
    return list(found.values())


def below_root(path):
    """A whole path counts from the last folder that is called linux, linux-next and so on."""
    found = re.match('.*/linux[a-z-]*/(.*)$', path) if path.startswith('/') else None
    return os.path.normpath(found.group(1) if found else path)


def read_globals(path):
    rows = (line.split() for line in open(path))
    return {int(f[0], 16): below_root(f[3]) for f in rows if len(f) > 3}


def number(text):
    text = text.strip()
    return 0 if text == '(null)' else int(text, 16)


def average(lives):
    """Live bytes over time, each step with the bytes after the event that ends it."""
    events = collections.Counter()
    for start, end, size in lives:
        events[start] += size
        events[end] -= size
    total = steps = live = 0
    before = None
    for t in sorted(events):
        live += events[t]
        if before is not None and live > 0:
            total += (t - before) * live
            steps += t - before
        before = t
    return int(round(total / steps, 1)) if steps else max(s for _, _, s in lives)


def identity(f):
    """The class of an object's line, and whether its pieces add up; None: none."""
    alloc, va, kind, cache = number(f[0]), number(f[2]), f[7], f[9].split('(')[0]
    if not alloc and not va or alloc >> 28 == 0xffffffffa:
        return None
    if kind in HEAP + ('VMALLOC',):
        if alloc == 0xfeedbeef:
            return ('prealloced-' + cache, False)
        return (alloc, False) if alloc else None
    if kind == 'STACK_PAGE':
        return ('THREAD_STACK', False)
    if kind in ('GLOBAL', 'UFO_GLOBAL'):
        return (('global', va), False)
    if kind in ('MEMBLOCK', 'UFO_MEMBLOCK'):
        return ('MEMBLOCK', True)
    if kind in ('UFO_NONE', 'UFO_HEAP'):
        if kind == 'UFO_NONE' and va >> 40 == 0xffffea:
            return ('VMEMMAP', True)
        if 0xffff880000002000 <= va < 0xffff880000010000:
            return ('MEMBLOCK', True)
        if 0xffffffff80000000 <= va < 0xffffffff9fffffff:
            return ('code_%x' % va, False)
        if 0xffffffffff578000 <= va < 0xffffffffff5fffff:
            return ('FIXMAP', False)
        return ('ANON_' + kind[4:], True)
    return None if kind in DROPPED else (kind, False)


class Map:
    def __init__(self, path):
        self.sizes, self.edges, self.calls = {}, collections.defaultdict(collections.Counter), {}
        lives = collections.defaultdict(list)
        self.accesses = False
        at, self.union = None, False
        for line in open(path):
            f = line.rstrip('\n').split(',')
            if line.startswith('#') or not line.strip():
                continue
            if len(f) == 10:
                at = self.object(f, lives)
            elif line[0] == ' ' and len(f) > 2:
                self.accesses = True
                ip = number(f[0])
                if at is not None and ip >= 1024 and ip >> 28 != 0xffffffffa:
                    self.edges[ip, at]['write'] += int(f[1])
                    self.edges[ip, at]['read'] += int(f[2])
                    self.edges[ip, at]['free'] += int(f[3]) if self.union and len(f) > 3 else 0
            else:
                a, b, n = line.split()
                self.calls.setdefault((int(a, 16), int(b, 16)), int(n))
        for at, some in lives.items():
            self.sizes[at] = average(some)
        if 'VMEMMAP' in self.sizes and not self.union:
            self.sizes['VMEMMAP'] = int(self.sizes['VMEMMAP'] * (8.0 / 124.0))

    def object(self, f, lives):
        self.union = f[8] == '(null)' and f[4] == f[5] == '0'
        if self.union:
            at = ('global', number(f[2])) if f[0] == '(null)' else f[0]
            at = int(at, 16) if isinstance(at, str) and len(at) == 16 and at[0] == 'f' else at
            at = 'code_%x' % int(at[5:], 16) if isinstance(at, str) and at.startswith('code_') else at
            self.sizes[at] = int(f[3])
            return at
        is_ = identity(f)
        if is_ is None:
            return None
        at, sums = is_
        size, start, end, free = int(f[3]), int(f[4]), int(f[5]), number(f[6])
        end = 0 if end > 1e11 else end
        if at not in self.sizes:
            self.sizes[at] = size
        elif sums:
            self.sizes[at] += size
        elif f[7] in HEAP + ('VMALLOC', 'STACK_PAGE'):
            self.sizes[at] = max(size, self.sizes[at])
        if f[7] in HEAP + ('STACK_PAGE',) and start and end and free >> 28 == 0xffffffff8:
            lives[at].append((start, end, size))
        if free and free != 0xdeadbeef:
            self.edges[free, at]['free'] += 1
        return at


class Union:
    def __init__(self, maps):
        sizes = collections.defaultdict(list)
        self.edges, self.calls = collections.defaultdict(collections.Counter), collections.Counter()
        for m in maps:
            for at, size in m.sizes.items():
                sizes[at].append(size)
            for k, v in m.edges.items():
                self.edges[k].update(v)
            for k, v in m.calls.items():
                self.calls[k] += v
        self.sizes = {at: s[0] if isinstance(at, tuple) else sum(s) // len(s) for at, s in sizes.items()}
        self.has_calls = any(m.calls for m in maps)
        self.has_accesses = any(m.accesses for m in maps)


def cut_of(f, level):
    folder = os.path.normpath(os.path.dirname(f.path))
    return {'topdir': folder.split('/')[0], 'dir': folder, 'file': os.path.normpath(f.path),
            'function': (f.path, f.name)}[level]


class Model:
    def __init__(self, functions, union, files=None):
        self.functions, self.sizes = functions, union.sizes
        self.files = files or {}
        where = sorted((start, size, f) for f in functions for start, size in f.parts)

        known = {}

        def find(ip):
            if ip not in known:
                known[ip] = search(ip)
            return known[ip]

        def search(ip):
            for start, size, f in where:
                if start <= ip < start + size:
                    return f
            raise KeyError('%x' % ip)
        self.find = find
        # edges: (instruction, function, target, size of the target, function of the target, op, count)
        self.edges = []
        self.live = set()
        seen = collections.defaultdict(set)
        for (ip, at), counts in union.edges.items():
            f = find(ip)
            self.live.add(f)
            for op, n in counts.items():
                if n:
                    self.edges.append((ip, f, at, union.sizes[at], None, op, n))
                    seen[f, op].add(ip)
        back = set()
        for (a, b), n in union.calls.items():
            f, g = find(a), find(b)
            self.live |= {f, g}
            if not n:
                continue
            self.edges.append((a, f, b, 4, g, 'call', n))
            seen[f, 'call'].add(a)
            for i in range(g.ops['return']):
                if (g, i, a) not in back:
                    back.add((g, i, a))
                    self.edges.append(((g, i), g, a, 4, f, 'return', max(n // g.ops['return'], 1)))
        self.n = {(f, op): max(f.ops[op], len(seen[f, op])) for f in functions for op in OPS}

    def least(self):
        return {op: sum(e[3] for e in self.edges if e[5] == op) for op in OPS}

    def mono(self, wx, live):
        some = [f for f in self.functions if not live or f in self.live]
        data, code = sum(self.sizes.values()), sum(f.size for f in some)
        reach = dict.fromkeys(OPS, data + code)
        if wx:
            reach.update(write=data, free=data, call=code)
            reach['return'] = code
        return {op: reach[op] * sum(self.n[f, op] for f in some) for op in OPS}

    def busiest(self, domain):
        use = collections.defaultdict(collections.Counter)
        for ip, f, at, size, g, op, n in self.edges:
            if g is None:
                use[at][domain[f]] += n
        return {at: c for at, c in use.items()}

    def owners(self, at, domain):
        """The domain of the allocating function; of a variable, those of the functions of its file."""
        if isinstance(at, tuple):
            return {domain[f] for f in self.functions if at[1] in self.files and below_root(f.path) == self.files[at[1]]}
        try:
            return {domain[self.find(at)]} if isinstance(at, int) else set()
        except KeyError:
            return set()

    def cut(self, level, links, wx, live):
        domain = {f: cut_of(f, level) for f in self.functions}
        owners = {at: self.owners(at, domain) for at in self.sizes} if links == 'allocator-owner' else {}
        ps = dict.fromkeys(OPS, 0)
        use = self.busiest(domain)
        reach = collections.defaultdict(set)
        for ip, f, at, size, g, op, n in self.edges:
            d = domain[f]
            free = links == 'unmediated' or (g is not None and domain[g] == d)
            if g is None and links == 'one-unmediated':
                most = max(use[at].values())
                ties = [x for x, k in use[at].items() if k == most]
                if len(ties) > 1:
                    raise ValueError('a tie')
                free = at in OPEN or ties == [d]
            if g is None and links == 'allocator-owner':
                free = at in OPEN or d in owners[at]
            if not free:
                ps[op] += size
            else:
                reach[d, op].add(at if g is None else domain[g])
        for d in set(domain.values()):
            some = [f for f in self.functions if domain[f] == d and (not live or f in self.live)]
            code = sum(f.size for f in some)

            def size_of(target):
                return sum(f.size for f in self.functions if domain[f] == target and (not live or f in self.live))
            u = {op: sum(size_of(x) if op in ('call', 'return') else self.sizes[x] for x in reach[d, op]) for op in OPS}
            for op in OPS:
                n = sum(self.n[f, op] for f in some)
                if op == 'read':
                    ps[op] += n * (u[op] + code)
                elif op in ('write', 'free'):
                    ps[op] += n * u[op] if wx else n * (u[op] + code)
                else:
                    ps[op] += n * u[op] if wx else n * (u[op] + u['read'])
        return ps


def answer(functions, maps, files):
    union = Union([Map(p) for p in maps])
    m = Model(read_functions(functions), union, files)
    rows = []

    def row(ps, **key):
        rows.append(dict(key, **{op: {'ps': v} for op, v in ps.items()}))
    row(m.least(), cut='min', wx=False, live=False)
    for live in (False, True):
        for wx in (False, True):
            row(m.mono(wx, live), cut='mono', wx=wx, live=live)
    for level in ('topdir', 'dir', 'file', 'function'):
        for links in ('unmediated', 'mediated', 'one-unmediated') + (('allocator-owner',) if files else ()):
            for live in (False, True):
                for wx in (False, True):
                    try:
                        row(m.cut(level, links, wx, live), cut=level, links=links, wx=wx, live=live)
                    except ValueError:
                        pass
    touched = {e[2] for e in m.edges if e[4] is None}
    of = {at: m.owners(at, {f: f for f in m.functions}) for at in touched}
    owners = {'sites': sum(isinstance(at, int) for at in of), 'variables': sum(isinstance(at, tuple) for at in of),
              'sites_without': sum(isinstance(at, int) and not of[at] for at in of),
              'variables_without': sum(isinstance(at, tuple) and not of[at] for at in of)}
    return {'owners': owners, 'functions': len(m.functions), 'live_functions': len(m.live), 'objects': len(m.sizes),
            'data_bytes': sum(m.sizes.values()), 'code_bytes': sum(f.size for f in m.functions), 'privilege': rows}


def key(r):
    return (r['cut'], r.get('links'), r['wx'], r['live'])


def compare(mine, theirs):
    bad = [(k, mine[k], theirs[k]) for k in mine if k != 'privilege' and mine[k] != theirs[k]]
    got = {key(r): r for r in theirs['privilege']}
    figures = 0
    for r in mine['privilege']:
        for op in OPS:
            plain = key(r) if r.get('links') != 'allocator-owner' else (r['cut'], 'mediated', r['wx'], r['live'])
            if got[plain][op]['ps'] is None:
                continue
            figures += 1
            if r[op]['ps'] != got[key(r)][op]['ps']:
                bad.append((key(r), op, r[op]['ps'], got[key(r)][op]['ps']))
    if bad or figures < 100:
        sys.exit('%d figures, differences (model, program): %s' % (figures, bad[:5]))


def object_id(at):
    if isinstance(at, tuple):
        return 'global_%016x' % at[1]
    if isinstance(at, int):
        return '%016x' % at
    return 'code_%016x' % int(at[5:], 16) if at.startswith('code_') else at


def read_cut(path):
    functions, owner, allowed = {}, {}, collections.defaultdict(set)
    for r in csv.DictReader(open(path)):
        if r['kind'] == 'function':
            functions[r['file'], r['name']] = r['domain']
        elif r['kind'] == 'object':
            owner[r['name']] = r['domain']
        else:
            allowed[r['domain'], r['name']] |= set(r['file'])
    return functions, owner, allowed


def price(cut, functions, maps, access=1490, call=1290):
    m = Model(read_functions(functions), Union([Map(p) for p in maps]))
    domain, owner, _ = read_cut(cut)
    of = {f: domain.get((f.path, f.name), '(dead)') for f in m.functions}
    accesses = calls = 0
    ps = dict.fromkeys(OPS, 0)
    reach = collections.defaultdict(set)
    for ip, f, at, size, g, op, n in m.edges:
        if g is not None:
            free = of[f] == of[g]
            calls += n if op == 'call' and not free else 0
        else:
            free = at in OPEN or owner.get(object_id(at)) == of[f]
            accesses += 0 if free else n
        if free:
            reach[of[f], op].add(at if g is None else of[g])
        else:
            ps[op] += size
    code = collections.Counter()
    for f in m.live:
        code[of[f]] += f.size
    for d in set(of[f] for f in m.live):
        for op in OPS:
            n = sum(m.n[f, op] for f in m.live if of[f] == d)
            u = sum(code[x] if op in ('call', 'return') else m.sizes[x] for x in reach[d, op])
            ps[op] += n * (u + (code[d] if op == 'read' else 0))
    return {'domains': len(set(of[f] for f in m.live)), 'ps': sum(ps.values()), 'accesses_across': accesses,
            'calls_across': calls, 'cost': access * accesses + call * calls}


def denied(cut, functions, maps):
    m = Model(read_functions(functions), Union([Map(p) for p in maps]))
    domain, owner, allowed = read_cut(cut)
    listed = set(owner) | {name for _, name in allowed}
    c = collections.Counter()
    for ip, f, at, size, g, op, n in m.edges:
        d, name = domain.get((f.path, f.name)), object_id(at) if g is None else None
        if g is not None or (d and (at in OPEN or owner.get(name) == d)):
            continue
        if d is None:
            c['function'] += n
        elif name not in listed:
            c['object'] += n
        elif (d, name) not in allowed:
            c['other'] += n
        elif op[0] not in allowed[d, name]:
            c['way'] += n
    return [sum(c.values())] + [c[k] for k in ('function', 'object', 'other', 'way')]


def make_random(seed, folder):
    r = random.Random(seed)
    base, functions = 0xffffffff81000000, []
    with open(folder + '/functions.csv', 'w') as out:
        out.write('name,file,start,size,read,write,call,return,free\n')
        for i in range(60):
            size = r.randrange(16, 400)
            path = '%s/%s/%s.c' % (r.choice('ab'), r.choice('cde'), r.choice('xyz'))
            functions.append((base, size))
            # some have more instructions than are counted, as rewritten code does
            out.write('f%d,%s,%016x,%d,%s\n' % (i % 55, path, base, size, ','.join(str(r.randrange(0, 9)) for _ in OPS)))
            base += size + r.choice((0, 0, 16))
    with open(folder + '/global_table', 'w') as out:
        for i in range(6):
            path = '%s/%s/%s.c' % (r.choice('ab'), r.choice('cde'), r.choice('xyz'))
            path = ('/home/linux/src/linux-next/' + path, 'a/c/none.c', path.replace('/', '/./', 1), path, path, path)[i]
            out.write('%016x %d v%d %s\n' % (0xffffffff83000000 + 64 * i, 64, i, path))
    types = HEAP[:5] + ('VMALLOC', 'STACK_FRAME', 'STACK_PAGE', 'GLOBAL', 'MEMBLOCK', 'UFO_NONE', 'UFO_HEAP', 'UFO_GLOBAL',
                        'USER', 'BUG')

    def code():
        start, size = r.choice(functions[:45])
        return start + r.randrange(size)
    sites = [code() for _ in range(25)]
    for name in ('one.cmap', 'two.cmap'):
        with open('%s/%s' % (folder, name), 'w') as out:
            for _ in range(40):
                out.write('%x %x %d\n' % (code(), r.choice(functions[:45])[0], r.randrange(0, 50)))
            t = 0
            for i in range(300):
                kind = r.choice(types)
                t += r.randrange(0, 9)
                freed = r.random() < 0.7
                alloc = r.choice(sites) if kind in HEAP + ('VMALLOC', 'STACK_PAGE') else 14 if 'UFO' in kind else 0
                if alloc > 64 and r.random() < 0.1:
                    alloc = 0xfeedbeef
                va = r.choice((0xffffea0000000000, 0xffff880000002000, 0xffffffff82000000, 0xffffffffff578000,
                               0xffff888000000000)) + 64 * r.randrange(12)
                if 'GLOBAL' in kind:
                    va = 0xffffffff83000000 + 64 * (va % 7)
                out.write('%s,%d,%016x,%d,%d,%d,%s,%s,sh,%s\n' % (
                    '%-16x' % alloc if alloc else '(null)          ', r.randrange(9), va,
                    64 if 'GLOBAL' in kind else r.choice((8, 24, 64, 100, 4096)), t,
                    0 if not freed else r.choice((t + r.randrange(0, 40), t + r.randrange(0, 40), 10**12)),
                    '%016x' % r.choice((code(), code(), 0xdeadbeef)) if freed else '          (null)', kind,
                    r.choice(('no-slab', 'dentry(12:cron)', 'filp'))))
                for _ in range(r.randrange(4)):
                    out.write('  %016x,%d,%d\n' % (code(), r.choice((0, 1, 7)), r.choice((0, 0, 3, 11))))


def main(args):
    if args[0] == '--random':
        make_random(int(args[1]), args[2])
    elif args[0] == '--price':
        json.dump(price(args[1], args[2], args[3:]), sys.stdout)
    elif args[0] == '--check':
        print(*denied(args[1], args[2], args[3:]))
    elif args[0] == '--compare':
        compare(json.load(open(args[1])), json.load(open(args[2])))
    elif args[0] == '--globals':
        json.dump(answer(args[2], args[3:], read_globals(args[1])), sys.stdout)
    else:
        json.dump(answer(args[0], args[1:], None), sys.stdout)


main(sys.argv[1:])
