# SPDX-License-Identifier: BSD-2-Clause
"""lifetimes by the method of the original: a regular expression for the line, one
for each pointer, two dictionaries. A peer for the bench, nothing more."""
import re, sys

size, born = {}, {}
def pointer(text):
    return int(re.split('[<>]+', text)[0], 16)

for number, line in enumerate(open(sys.argv[1]), 1):
    line = line.rstrip()
    word = re.split('[()=, ]+', line)
    if word[0] == 'malloc':
        where = pointer(word[2])
        size[where], born[where] = word[1], number
        print(line)
        continue
    old = pointer(word[1])
    note = '%s bytes, allocated %d lines ago' % (size[old], number - born[old])
    if word[0] == 'realloc':
        where = pointer(word[3])
        size[where], born[where] = word[2], number
    print('%-49s # %s' % (line, note))
