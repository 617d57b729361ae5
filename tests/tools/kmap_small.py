# SPDX-License-Identifier: BSD-2-Clause
"""A KMAP (11 fields) of a kernel whose `nm -S` is on standard input: every function
allocates objects that the others read and write, more or less often."""
import sys

code = []
for line in sys.stdin:
    f = line.split()
    if len(f) == 4 and f[2] in 'tT':
        code.append((int(f[0], 16), int(f[1], 16)))
serial = 0
for i, (start, size) in enumerate(code):
    for n in range(5 + 3 * i):
        serial += 1
        freed = serial % 3
        print('%016x,%d,%016x,%d,%d,%d,%016x,%s,%s,%s,%s' % (
            start + size // 2, 100 + n % 4, 0xffff888000000000 + serial * 4096, 64 << i, 1000 + serial,
            1100 + serial if freed else 0, code[(i + 1) % len(code)][0] + 8 if freed else 0,
            'KMALLOC', 'proc%d' % (n % 4), 'kmalloc-%d' % (64 << i), 'KMALLOC'))
        for k, (at, room) in enumerate(code):
            if (n + k) % 4:
                print('  %016x,%d,%d,%d' % (at + 5 + (n + k) % max(1, room - 6), (n * k) % 5, 1 + n * (k + 1), 100 + (n + k) % 5))
