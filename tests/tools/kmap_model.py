#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Answers to the questions of `memorizer kmap`, by the slow and obvious way: every
object is kept, and each question goes through all of them.

kmap_model.py KMAP KALLSYMS QUESTION[:ARGUMENT]=ANSWER.json...: compares, and prints a
line `ok` or `not ok` for each. With --functions before them, KALLSYMS has lines
`ADDR FUNCTION FILE` instead.
"""
import bisect
import collections
import fnmatch
import json
import os
import sys

TYPES = set('''STACK STACK_FRAME STACK_ARGS STACK_PAGE GEN_HEAP UFO_HEAP GLOBAL KMALLOC KMALLOC_ND
KMEM_CACHE KMEM_CACHE_ND KMEM_CACHE_BULK VMALLOC ALLOC_PAGES ALLOC_PAGES_EXACT GLOBAL_PERCPU MODULE PERCPU
ALLOC_PAGES_GETFREEPAGES ALLOC_PAGES_FOLIO INDUCED_ALLOC BOOTMEM MEMBLOCK UFO_MEMBLOCK MEMORIZER USER
BUG UFO_GLOBAL UFO_NONE NONE'''.split())


class Object:
    pass


def printable(b):
    return ''.join(chr(c) if 0x20 <= c < 0x7f else '\\x%02x' % c for c in b)


def address(s):
    return 0 if s == b'(null)' else int(s, 16)


def read(path):
    objects, calls = [], []
    for line in open(path, 'rb').read().split(b'\n'):
        if not line or line.startswith(b'#'):
            continue
        if line.startswith(b' '):
            f = line.strip().split(b',')
            o = objects[-1]
            if len(f) == 3:
                o.accesses.append((address(f[0]), -1, int(f[1]), int(f[2])))
            elif o.fields == 8:
                o.accesses.append((address(f[0]), int(f[1]), int(f[2]), int(f[3])))
            else:
                o.accesses.append((address(f[0]), int(f[3]), int(f[1]), int(f[2])))
            continue
        if b',' not in line:
            calls.append(line.split())
            continue
        f = line.split(b',')
        o = Object()
        o.alloc, o.pid, o.va, o.size = address(f[0]), int(f[1]), address(f[2]), int(f[3])
        o.born, o.died, o.free = int(f[4]), int(f[5]), address(f[6])
        o.accesses, o.type, o.cache, o.fields = [], '', '', 8
        if f[7].decode('latin1') in TYPES and len(f) >= 10:
            o.fields = 10
            o.type, o.cache = f[7].decode(), f[-1].decode()
            o.comm = b','.join(f[8:-1])
            if f[-1].decode('latin1') in TYPES and len(f) >= 11:
                o.fields, o.cache, o.comm = 11, f[-2].decode(), b','.join(f[8:-2])
        else:
            o.comm = b','.join(f[7:])
        objects.append(o)
    return objects, calls


class Names:
    def __init__(self, path, files):
        self.funcs, self.vars, self.files = [], {}, {}
        for line in open(path):
            if files:
                a, name, file = line.split()
                self.funcs.append((int(a, 16), name, ''))
                self.files[name] = file
                continue
            f = line.split()
            if f[1] in 'tTwW':
                self.funcs.append((int(f[0], 16), f[2], f[3][1:-1] if len(f) > 3 else ''))
            elif f[1] in 'bBdDrRvV':
                self.vars[int(f[0], 16)] = f[2]
        self.funcs.sort()
        self.starts = [f[0] for f in self.funcs]

    def find(self, ip):
        i = bisect.bisect_right(self.starts, ip - 1)
        if not i or ip - 1 - self.starts[i - 1] > 1 << 20:
            return None
        return self.funcs[i - 1]

    # of a return address, or of the start of a function, which is one behind it
    def code(self, ip, by, start=None):
        special = {0: '(none)', 0xdeadbeef: '(missed free)', 0xfedbeef: '(inside an allocator)',
                   0xfeedbeef: '(constructor)'}
        if ip in special:
            return special[ip]
        f = self.find(ip)
        if by in ('dir', 'file'):
            if f and f[1] in self.files:
                return os.path.dirname(self.files[f[1]]) if by == 'dir' else self.files[f[1]]
            return '[%s]' % f[2] if f and f[2] else '(unknown)'
        return f[1] if f else '0x%x' % (ip if start is None else start)


def is_global(o):
    return o.alloc == 0 or o.type.startswith('GLOBAL') or o.type == 'UFO_GLOBAL'


# a frame is its function's, which is said by its start
def allocator(n, o, by):
    if o.type in ('STACK_FRAME', 'STACK_ARGS') and o.alloc > 0xffffffff:
        return n.code(o.alloc + 1, by, o.alloc)
    return n.code(o.alloc, by)


def owner(n, o, by):
    if by == 'cache' and o.cache:
        return o.cache
    if is_global(o):
        return '(global variables)' if by in ('dir', 'file') else n.vars.get(o.va, '0x%x' % o.va)
    if by == 'cache' and o.type:
        return o.type
    return allocator(n, o, 'function' if by == 'cache' else by)


def kind(o):
    return (o.alloc, o.type, o.cache, o.va if is_global(o) else 0)


def pid_name(objects, pid):
    if pid < 0:
        return '(unknown)'
    if pid == 0:
        return '(interrupt or idle)'
    comm = b''
    for o in objects:
        if o.pid == pid:
            comm = o.comm
    return '%s (%d)' % (printable(comm), pid) if comm else '%d' % pid


def matrix(objects, n, by):
    rows = collections.defaultdict(lambda: [0, 0, 0, 0, 0])
    names = {}
    for o in objects:
        seen = set()
        for ip, pid, writes, reads in o.accesses:
            if by == 'pid':
                for p in (pid, o.pid):
                    if p not in names:
                        names[p] = pid_name(objects, p)
                key = names[pid], names[o.pid]
            else:
                key = n.code(ip, 'function' if by == 'cache' else by), owner(n, o, by)
            r = rows[key]
            r[0] += reads
            r[1] += writes
            r[4] += reads + writes
            if key not in seen:
                r[2] += 1
                r[3] += o.size
            seen.add(key)
    return {k + tuple(v): 1 for k, v in rows.items()}


def match(pattern, name):
    if any(c in pattern for c in '*?['):
        return bool(name) and fnmatch.fnmatchcase(name, pattern)
    return bool(name) and pattern in name


def chosen(n, o, pattern):
    home = n.files.get((n.find(o.alloc) or ('', '', ''))[1], '')
    return any(match(pattern, x) for x in (o.cache, o.type, owner(n, o, 'function'), home))


def by_code(objects, n, pattern, role):
    rows = collections.defaultdict(lambda: [0, 0])
    for o in objects:
        if not chosen(n, o, pattern):
            continue
        if role == 'allocated_by' and not is_global(o):
            rows[allocator(n, o, 'function')][0] += 1
            rows[allocator(n, o, 'function')][1] += 1
        if role == 'freed_by' and (o.free or o.died):
            rows[n.code(o.free, 'function')][0] += 1
            rows[n.code(o.free, 'function')][1] += 1
        seen = set()
        for ip, pid, writes, reads in o.accesses:
            times = {'written_by': writes, 'read_by': reads}.get(role, 0)
            if not times:
                continue
            name = n.code(ip, 'function')
            rows[name][0] += times
            rows[name][1] += name not in seen
            seen.add(name)
    return {(k,) + tuple(v): 1 for k, v in rows.items()}


def touches(objects, n, pattern):
    rows = collections.defaultdict(lambda: [0, 0, 0, 0])
    for o in objects:
        seen = set()
        for ip, pid, writes, reads in o.accesses:
            name = n.code(ip, 'function')
            if not match(pattern, name):
                continue
            r = rows[name, kind(o)]
            r[0] += reads
            r[1] += writes
            if name not in seen:
                r[2] += 1
                r[3] += o.size
            seen.add(name)
    return sorted((k[0],) + tuple(v) for k, v in rows.items())


def shared(objects, n):
    rows = collections.defaultdict(lambda: [0, 0, 0, 0])
    for o in objects:
        r = rows[kind(o)]
        r[0] += 1
        dirs = {n.code(ip, 'dir') for ip, _, _, _ in o.accesses if (n.find(ip) or [0, 0])[1] in n.files}
        pids = {pid for _, pid, _, _ in o.accesses if pid >= 0}
        r[1] += len(dirs) > 1
        r[2] += len(pids - {0}) > 1
        r[3] += 0 in pids and bool(pids - {0})
    return sorted(tuple(v) for v in rows.values() if any(v[1:]))


def unused(objects):
    rows = collections.defaultdict(lambda: [0] * 7)
    for o in objects:
        r = rows[kind(o)]
        reads = sum(a[3] for a in o.accesses)
        writes = sum(a[2] for a in o.accesses)
        r[0] += 1
        r[1] += not reads
        r[2] += not writes
        r[3] += not reads and not writes
        r[4] += not reads and not writes and bool(o.free or o.died)
        r[5] += o.size if not reads and not writes else 0
        r[6] += o.size if not reads else 0
    return sorted(tuple(v) for v in rows.values() if v[1] or v[2])


def report(objects, calls, n):
    touched = [o for o in objects if any(a[2] or a[3] for a in o.accesses)]

    def total(some):
        return dict(objects=len(some), bytes=sum(o.size for o in some))

    def reads(o):
        return sum(a[3] for a in o.accesses)

    def writes(o):
        return sum(a[2] for a in o.accesses)

    def users(o):
        return {a[1] for a in o.accesses if a[1] > 0}
    code = {a[0] for o in objects for a in o.accesses}
    return dict(
        all=total(objects), freed=total([o for o in objects if o.free or o.died]),
        missed_frees=total([o for o in objects if o.free == 0xdeadbeef]),
        untouched=total([o for o in objects if not reads(o) and not writes(o)]),
        freed_untouched=total([o for o in objects if not reads(o) and not writes(o) and (o.free or o.died)]),
        never_read=total([o for o in objects if writes(o) and not reads(o)]),
        never_written=total([o for o in objects if reads(o) and not writes(o)]),
        shared_by_processes=total([o for o in objects if len(users(o)) > 1]),
        shared_by_contexts=total([o for o in objects if users(o) and 0 in {a[1] for a in o.accesses}]),
        reads=sum(map(reads, objects)), writes=sum(map(writes, objects)),
        access_lines=sum(len(o.accesses) for o in objects), places=len(code),
        functions=len({n.code(ip, 'function') for ip in code}), kinds=len({kind(o) for o in objects}),
        touching_processes=len({p for o in objects for p in users(o)}),
        globals=len({kind(o) for o in objects if is_global(o)}),
        call_edges=len({(c[0], c[1]) for c in calls}))


def call_rows(calls, n, by):
    rows = collections.defaultdict(lambda: [set(), 0])
    for c in calls:
        start, end = int(c[0], 16), int(c[1], 16)
        r = rows[n.code(start, by), n.code(end + 1, by, end)]
        r[0].add((start, end))
        r[1] += int(c[2])
    return [k + (len(v[0]), v[1]) for k, v in rows.items()]


def rows_of(answer, keys):
    return sorted(tuple(r[k] for k in keys) for r in answer)


def compare(what, mine, theirs):
    mine, theirs = sorted(mine), sorted(theirs)
    if mine != theirs:
        a = [x for x in mine if x not in theirs][:3]
        b = [x for x in theirs if x not in mine][:3]
        raise Differs('%s: model %d rows, program %d; only in the model: %s; only in the program: %s' %
                 (what, len(mine), len(theirs), a, b))


class Differs(Exception):
    pass


def check(objects, calls, n, question, argument, got):
    if question == 'matrix':
        compare('matrix', matrix(objects, n, argument),
                rows_of(got['matrix'], ('accessor', 'owner', 'reads', 'writes', 'objects', 'bytes', 'accesses')))
    elif question == 'calls':
        compare('calls', call_rows(calls, n, argument), rows_of(got['calls'], ('caller', 'callee', 'edges', 'calls')))
    elif question == 'object':
        for role in ('allocated_by', 'freed_by', 'written_by', 'read_by'):
            compare(role, by_code(objects, n, argument, role), rows_of(got[role], ('function', 'times', 'objects')))
    elif question == 'site':
        compare('site', touches(objects, n, argument),
                rows_of(got['touches'], ('function', 'reads', 'writes', 'objects', 'bytes')))
    elif question == 'shared':
        compare('shared', shared(objects, n),
                rows_of(got['shared'], ('objects', 'by_subsystems', 'by_processes', 'by_contexts')))
    elif question == 'unused':
        compare('unused', unused(objects),
                rows_of(got['unused'], ('objects', 'never_read', 'never_written', 'untouched', 'freed_untouched',
                                        'untouched_bytes', 'unread_bytes')))
    elif question == 'report':
        want = report(objects, calls, n)
        bad = {k: (v, got[k]) for k, v in want.items() if got[k] != v}
        if bad:
            raise Differs('report: (model, program): %s' % bad)
    else:
        sys.exit('no such question')



def main():
    args = sys.argv[1:]
    files = args[0] == '--functions'
    args = args[files:]
    objects, calls = read(args[0])
    n = Names(args[1], files)
    failed = False
    for ask in args[2:]:
        what, answer = ask.rsplit('=', 1)
        question, _, argument = what.partition(':')
        try:
            check(objects, calls, n, question, argument, json.load(open(answer)))
            print('ok %s: %s' % (args[0], what))
        except (Differs, KeyError, ValueError) as e:
            print('not ok %s: %s: %r' % (args[0], what, e))
            failed = True
    sys.exit(failed)


main()
