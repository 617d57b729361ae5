# SPDX-License-Identifier: BSD-2-Clause
"""A union of maps with 20,000 functions and 100,000 classes of objects, in two files:
bigcut.py FUNCTIONS.csv MAP. Code of one folder mostly touches objects of that folder."""
import random
import sys

r = random.Random(18)
FUNCTIONS, CLASSES, FOLDERS = 20000, 100000, 200
BASE = 0xffffffff81000000
with open(sys.argv[1], 'w') as out:
    out.write('name,file,start,size,read,write,call,return,free\n')
    for i in range(FUNCTIONS):
        out.write('fn_%d,d%d/f%d.c,%016x,256,%d,%d,%d,1,%d\n' % (i, i % FOLDERS, i % 1700, BASE + 256 * i, 1 + i % 9, i % 5, i % 12, i % 2))


def code(folder):
    f = int(FUNCTIONS // FOLDERS * r.random() ** 2) * FOLDERS + folder if r.random() < 0.7 else int(FUNCTIONS * r.random() ** 3)
    return BASE + 256 * f + 16 * r.randrange(15) + 8


with open(sys.argv[2], 'w') as out:
    out.write('# union of 1 maps\n')
    for _ in range(60000):
        a = r.randrange(FOLDERS)
        out.write('%016x %016x %d\n' % (code(a), code(a) & ~255, 1 + int(1000 * r.random() ** 4)))
    for i in range(CLASSES):
        folder = r.randrange(FOLDERS)
        out.write('%016x,0,%016x,%d,0,0,(null),KMALLOC,(null),c%d\n' % (BASE + 256 * FUNCTIONS + 4 * i, 0xffff888000000000 + 64 * i, 8 << r.randrange(7), i % 90))
        for ip in {code(folder) for _ in range(r.randrange(1, 14))}:
            out.write('  %016x,%d,%d,%d\n' % (ip, int(300 * r.random() ** 5), 1 + int(3000 * r.random() ** 5), r.random() < 0.1))
