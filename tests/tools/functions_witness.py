# SPDX-License-Identifier: BSD-2-Clause
"""What `objdump -d` shows of a program, counted by function: compares with the table of
`memorizer kmap functions` (CSV) given as the second argument."""
import collections
import csv
import re
import subprocess
import sys

LABEL = re.compile(r'^([0-9a-f]{16}) <(.*)>:$')
WORDS = {'read': ('__asan_load', 'kasan_check_read'), 'write': ('__asan_store', 'kasan_check_write')}

want = collections.OrderedDict()
plt = set()
now = None
dump = subprocess.Popen(['objdump', '-d', '-w', sys.argv[1]], stdout=subprocess.PIPE, universal_newlines=True)
for line in dump.stdout:
    line = line.rstrip('\n')
    if line.startswith('Disassembly of section'):
        now = None
        skip = '.altinstr' in line
    label = LABEL.match(line)
    if label and not skip:
        now = want.setdefault(int(label.group(1), 16), collections.Counter())
        if '@plt' in label.group(2):
            plt.add(int(label.group(1), 16))  # objdump's own names
        continue
    cells = line.split('\t')
    if now is None or len(cells) < 2:
        continue
    text = cells[2] if len(cells) > 2 else ''
    if 'cyg_profile' in text:
        continue
    words = text.split()
    while words and (words[0].startswith('rex') or words[0] in ('bnd', 'notrack', 'data16', 'addr32', 'rep', 'repz', 'cs', 'ds')):
        words.pop(0)
    op = words[0] if words else ''
    now['size'] += len(cells[1].split())
    target = ' '.join(re.findall(r'<[^>]*>', text))
    for k, parts in WORDS.items():
        tsan = '__tsan_' in target and k in target
        now[k] += any(p in target for p in parts) or tsan
    now['call'] += op in ('call', 'callq')
    now['return'] += op in ('ret', 'retq', 'iretq', 'lretq', 'sysretq')
    now['free'] += op in ('call', 'callq') and any('<%s>' % f in text for f in ('kfree', 'kmem_cache_free', 'kvfree'))
bad = []
rows = 0
for row in csv.DictReader(open(sys.argv[2])):
    rows += 1
    w = want.pop(int(row['start'], 16), None)
    if w is None:
        bad.append((row['name'], 'not in the disassembly'))
        continue
    for k in ('size', 'read', 'write', 'call', 'return', 'free'):
        if row[k] and int(row[k]) != w[k]:
            bad.append((row['name'], k, 'objdump', w[k], 'table', row[k]))
left = [a for a, w in want.items() if w['size'] and a not in plt]
if bad or left or rows < 5:
    sys.exit('%d rows, %d differences: %s; not in the table: %s' % (rows, len(bad), bad[:8], ['%x' % a for a in left[:5]]))
print(rows)
