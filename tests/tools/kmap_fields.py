# SPDX-License-Identifier: BSD-2-Clause
"""kmap_fields.py VMLINUX: a KMAP, with the bytes that accesses touch, of the kernel in
tests/data/kernel/mm/objects.c. Each function that allocates has ten objects; make_known and
use access them at the places below. Calls are found with objdump."""
import re
import subprocess
import sys

PLACES = [  # function, writes, reads, first byte, last byte
    ('make_known', 1, 0, 0, 0), ('make_known', 2, 0, 8, 8), ('use', 0, 3, 12, 12), ('use', 0, 4, 13, 28),
    ('make_inlined', 5, 0, 40, 40), ('use', 6, 0, 56, 60), ('use', 0, 7, 60, 60), ('use', 8, 8, 64, 64),
    ('start_kernel', 9, 0, 0, 79), ('start_kernel', 0, 10, 29, 29), ('start_kernel', 0, 11, 32, 55),
    ('use', 0, 12, 74, 74), ('start_kernel', 1, 1, 65535, 65535)]
SIZES = {'make_known': 80, 'make_inlined': 80, 'give_known': 80, 'make_flex': 11, 'make_elements': 64,
         'make_bytes': 80, 'make_either': 80}

calls, starts, function = {}, {}, None
after = False
for line in subprocess.run(['objdump', '-d', sys.argv[1]], capture_output=True, text=True).stdout.splitlines():
    head = re.match(r'([0-9a-f]{16}) <(\w+)>:', line)
    at = re.match(r'([0-9a-f]{16}):', line)
    if head:
        function = head[2]
        starts[function] = int(head[1], 16)
    elif at and after:
        calls[function] = int(at[1], 16)
    after = bool(re.search(r'call.*<(kmalloc|cache_alloc)>', line)) and function not in calls
va = 0xffff888000000000
for function, size in SIZES.items():
    for i in range(10):
        va += 4096
        cache = 'known' if function == 'give_known' else 'odd' if function in ('make_known', 'make_bytes') else 'kmalloc-96'
        print('%016x,%d,%016x,%d,%d,0,%016x,sh,KMALLOC,%s,96' % (calls[function], 7, va, size, 100 + i, 0, cache))
        for k, (by, writes, reads, first, last) in enumerate(PLACES):
            if last < size or first == 65535:
                print('  %016x,7,%d,%d,%d,%d' % (starts[by] + 1 + k, writes, reads, first, last))
