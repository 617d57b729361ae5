# SPDX-License-Identifier: BSD-2-Clause
"""overhead by the method of the original: a regular expression for the
line, one for each pointer, sorted dictionaries of the blocks. A peer for the bench, nothing more."""
import re, sys
from sortedcontainers import SortedDict

size, born = SortedDict(), SortedDict()

def pointer(text):
    return int(re.split('[<>]+', text)[0], 16)

def place(p):
    i, s = size.index(p), size[p]
    first, last = p >> 12, p + s - 1 >> 12
    pages = last - first + 1
    before = after = 0
    gap1 = gap2 = -1
    if i:
        before, n = size.peekitem(i - 1)
        gap1 = p - before - n
        pages -= before + n - 1 >> 12 == first
    if i + 1 < len(size):
        after, _ = size.peekitem(i + 1)
        gap2 = after - p - s
        if pages and after >> 12 == last:
            pages -= 1
    return before, gap1, after, gap2, first, last, pages

for number, line in enumerate(open(sys.argv[1]), 1):
    line = line.rstrip()
    word = re.split('[()=, ]+', line)
    note = None
    if word[0] != 'malloc':
        old = pointer(word[1])
        note = '%d bytes, allocated %d lines ago, prev %x, gap %d, next %x, gap %d, pages [%d-%d], %d fewer pages' % (
            (size[old], number - born[old]) + place(old))
        del size[old], born[old]
    if word[0] != 'free':
        new = pointer(word[-1])
        size[new], born[new] = int(word[-2]), number
        note = note or 'prev %x, gap %d, next %x, gap %d, pages [%d, %d], %d more pages ' % place(new)
    print('%-49s # %s' % (line, note))
