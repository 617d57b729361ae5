#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Maps as upstream's kernels print them, generation by generation, with what they mean.

upstream_kmap.py FOLDER: writes g8.kmap ... g11b.kmap, allocations, accesses,
function_calls, global_table, stats, and want.json (sums that were kept while writing).
The pointers follow the kernel's vsnprintf: %p in 16 columns on the right, %-p on the left.
"""
import json
import random
import sys


class Generation:
    def __init__(self, name, linux4, hashed=False):
        self.name, self.linux4, self.hashed = name, linux4, hashed

    def right(self, v):
        if not v:
            return '          (null)' if self.linux4 else '0' * 16
        return '%016x' % (self.hash(v))

    def left(self, v):
        if not v:
            return '(null)          ' if self.linux4 else '0'.ljust(16)
        return ('%x' % self.hash(v)).ljust(16)

    def hash(self, v):
        if not self.hashed or v < 1 << 32:
            return v
        return (v * 2654435761 >> 7 & 0xffffffff) | 0x40000000


TYPES = ['KMALLOC', 'KMEM_CACHE', 'ALLOC_PAGES', 'STACK_PAGE']
COMMS = ['swapper', 'sh', 'kworker/0:1', 'a,b', 'x y', 'end,', 'softirq', 'no,slab,KMALLOC']
SLABS = {'KMALLOC': 'kmalloc-64', 'KMEM_CACHE': 'dentry(24:cron.service)'}


def write(g, path, seed):
    r = random.Random(seed)
    w = {'objects': 0, 'bytes': 0, 'reads': 0, 'writes': 0, 'access_lines': 0, 'freed': 0, 'missed': 0, 'nested': 0,
         'no_object_reads': 0, 'no_object_writes': 0, 'comms': []}
    n8, n9 = g.name == 'g8', g.name == 'g9'
    g11 = g.name.startswith('g11')

    def access(out, ip, pid, catch_all=False, none=False):
        writes, reads = r.randrange(5), r.randrange(1, 90)
        w['writes'] += writes
        w['reads'] += reads
        w['access_lines'] += 1
        if catch_all:
            w['no_object_writes'] += writes
            w['no_object_reads'] += reads
        if n8:
            out.write('  %s,%d,%d,%d\n' % (g.right(ip), pid, writes, reads))
        elif none and g.name == 'g10':
            out.write('  from:%s,caller:%s,%d,%d\n' % (g.right(ip), g.right(ip + 64 if ip % 3 else 0), writes, reads))
        elif none and g.name == 'g11b':
            out.write('  from:%s,%d,%d\n' % (g.right(ip), writes, reads))
        elif g11:
            out.write('  %s,%d,%d,%d\n' % (g.right(ip), writes, reads, pid if r.randrange(3) else -1))
        else:
            out.write('  %s,%d,%d\n' % (g.right(ip), writes, reads))

    def put(out, alloc_ip, pid, va, size, alloc, free, free_ip, type_, comm, slab, new_type):
        first = g.right(alloc_ip) if n8 else g.left(alloc_ip)
        line = '%s,%d,%s,%d,%d,%d,%s' % (first, pid, g.right(va), size, alloc, free, g.right(free_ip))
        if n8:
            line += ',' + comm
        elif n9:
            line += ',%s,%s' % (type_, comm)
        else:
            line += ',%s,%s,%s' % (type_, comm, slab)
        if g11:
            line += ',' + new_type
        out.write(line + '\n')
        w['objects'] += 1
        w['bytes'] += size

    with open(path, 'w') as out:
        if not n8:
            for t in ['STACK', 'KMALLOC', 'NONE']:
                put(out, 0, 0, 0, 0, r.randrange(9), 0, 0, t, 'swapper', 'no-slab', '')
                if t != 'KMALLOC':
                    access(out, 0xffffffff81003330 + r.randrange(99), 0, True, t == 'NONE')
        else:
            put(out, 0, 0, 0xffffffff8263c340, 64, 4294892296, 0, 0, '', 'swapper', '', '')
        for i in range(300):
            t = r.choice(TYPES)
            slab = SLABS.get(t, 'no-slab')
            comm = r.choice(COMMS)
            alloc_ip = 0xffffffff81200000 + r.randrange(50) * 17
            fate = r.randrange(10)
            va, size = 0xffff888000000000 + r.randrange(1 << 20) * 64, r.choice([8, 64, 192, 4096])
            alloc = 100 + i
            free, free_ip, new_type = 0, 0, ''
            if fate < 6:
                free, free_ip = alloc + r.randrange(1, 50), 0xffffffff81300000 + r.randrange(9)
            elif fate == 6:
                free, free_ip, new_type = alloc + 5, 0xdeadbeef, t
                w['missed'] += 1
            elif fate == 7 and g11:
                free, free_ip, new_type = alloc + 1, 0xfedbeef, 'KMALLOC'
                w['nested'] += 1
            elif fate == 8 and not n8:
                alloc_ip = r.choice([0xfeedbeef, 3, 5, 14])
                if alloc_ip < 64:
                    t = 'UFO_GLOBAL' if not n9 else 'UNKNOWN_GLOBAL'
            w['freed'] += free > 0
            w['comms'].append(comm)
            put(out, alloc_ip, 1000 + COMMS.index(comm), va, size, alloc, free, free_ip, t, comm, slab, new_type)
            for _ in range(r.randrange(4)):
                access(out, 0xffffffff81400000 + r.randrange(400), r.randrange(2, 900))
    return w


def write_pair(folder, pids):
    g = Generation('g11a', False)
    r = random.Random(7)
    w = {'objects': 0, 'bytes': 0, 'reads': 0, 'writes': 0, 'access_lines': 0}
    with open(folder + '/allocations', 'w') as a, open(folder + '/accesses', 'w') as b:
        a.write('alloc_ip,pid,ptr,size,alloc_serial,free_serial,free_ip,type,slab,new_type\n')
        b.write('alloc_index,access_ip,%swrites,reads\n' % ('pid,' if pids else ''))
        rows = []
        for i in range(200):
            size = r.choice([8, 64, 192])
            a.write('%s,%d,%s,%d,%d,%d,%s,KMALLOC,%s,kmalloc-64,\n' %
                    (g.left(0xffffffff81200000 + i % 9), 5, g.right(0xffff888000000000 + i * 64), size, 9000 + i, 0, g.right(0),
                     r.choice(COMMS)))
            w['objects'] += 1
            w['bytes'] += size
            for k in range(r.randrange(5)):
                rows.append((9000 + i, 0xffffffff81400000 + k, r.choice([733, 18446744073709551615]), r.randrange(9), r.randrange(9)))
        r.shuffle(rows)
        for index, ip, pid, writes, reads in rows:
            b.write('%d,%s,%s%d,%d\n' % (index, g.right(ip), '%d,' % pid if pids else '', writes, reads))
            w['writes'] += writes
            w['reads'] += reads
            w['access_lines'] += 1
    return w


def main():
    folder = sys.argv[1]
    want = {}
    for name, linux4 in [('g8', True), ('g9', True), ('g10', True), ('g10', False), ('g11a', False), ('g11b', False)]:
        file = name + ('' if linux4 or name != 'g10' else '-6.0')
        want[file] = write(Generation(name, linux4), '%s/%s.kmap' % (folder, file), len(want))
    want['hashed'] = write(Generation('g11a', False, True), folder + '/hashed.kmap', 99)
    want['pair'] = write_pair(folder, True)
    with open(folder + '/function_calls', 'w') as out:
        out.write('ffffffff8151a0e9 ffffffff812d0000 17\n%x %x 3\n' % (0xffffffff81000010, 0xffffffff81000200))
    with open(folder + '/global_table', 'w') as out:
        out.write('ffffffff82a11ce0 8 jif_seen kernel/time/seen.c\nffffffff8263c340 64 boot_params arch/x86/kernel/setup.c\n\n')
    with open(folder + '/stats', 'w') as out:
        row, typed = '  %-14s%16d\n', '   %-15s: %16d, %16d\n'
        out.write('------- Memory Accesses -------\n' + row % ('Tracked:', 1203) + row % ('Missing:', 77) +
                  row % ('Induced:', 5) + row % ('Disabled:', 0) + row % ('Total Obs:', 1285))
        out.write('------- Tracked Memory Allocations -------\n' + typed % ('KMALLOC', 881, 0))
        out.write('------- Missing Allocs -------\n' + typed % ('KMALLOC', 4, 0) + typed % ('KMEM_CACHE', 7, 0))
    json.dump(want, open(folder + '/want.json', 'w'))


main()
