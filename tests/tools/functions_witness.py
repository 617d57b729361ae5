# SPDX-License-Identifier: BSD-2-Clause
"""What `objdump -d` shows of a program, counted by function: compares with the table of
`memorizer kmap functions` (CSV) given as the second argument.

objdump 2.40 does not know LKGS (f2 0f 00 /6): it shows three bytes as (bad), goes on in the
middle of what follows, and so loses instructions. Such a place is replaced in a copy by an
instruction of the same length that it knows (ds lldt), and the copy is shown.

--module NAME before the two: a module, whose functions end with [NAME] in the table, and whose
calls are named by relocations (objdump -dr)."""
import collections
import csv
import re
import subprocess
import sys
import tempfile

LABEL = re.compile(r'^([0-9a-f]{16}) <(.*)>:$')
WORDS = {'read': ('__asan_load', 'kasan_check_read'), 'write': ('__asan_store', 'kasan_check_write')}


def show(path, how='-d'):
    dump = subprocess.Popen(['objdump', how, '-w', path], stdout=subprocess.PIPE, universal_newlines=True)
    for line in dump.stdout:
        yield line.rstrip('\n')


def offset_of(path, addr):
    """Where the byte of an address is in the file."""
    for line in subprocess.check_output(['objdump', '-h', '-w', path], universal_newlines=True).splitlines():
        f = line.split()
        if len(f) > 5 and f[0].isdigit() and 0 <= addr - int(f[3], 16) < int(f[2], 16):
            return addr - int(f[3], 16) + int(f[5], 16)


def replace(path, places):
    data = bytearray(open(path, 'rb').read())
    for addr in places:
        at = offset_of(path, addr)
        if data[at:at + 3] == b'\xf2\x0f\x00' and data[at + 3] >> 3 & 7 == 6:
            data[at] = 0x3e
            data[at + 3] = data[at + 3] & 0xc7 | 2 << 3
    copy = tempfile.NamedTemporaryFile()
    copy.write(data)
    copy.flush()
    return copy


def count_line(now, octets, text, name=None):
    if 'cyg_profile' in text or 'cyg_profile' in (name or ''):
        return
    words = text.split()
    while words and (words[0].startswith('rex') or words[0] in ('bnd', 'notrack', 'data16', 'addr32', 'rep', 'repz', 'cs', 'ds')):
        words.pop(0)
    op = words[0] if words else ''
    now['size'] += len(octets.split())
    if name:
        text = '%s <%s>' % (op, name)  # what will be linked here
    target = ' '.join(re.findall(r'<[^>]*>', text))
    for k, parts in WORDS.items():
        tsan = '__tsan_' in target and k in target
        now[k] += any(p in target for p in parts) or tsan
    now['call'] += op in ('call', 'callq')
    now['return'] += op in ('ret', 'retq', 'iretq', 'lretq', 'sysretq')
    now['free'] += op in ('call', 'callq') and any('<%s>' % f in text for f in ('kfree', 'kmem_cache_free', 'kvfree'))


def count(path):
    """Counts by the start of functions, objdump's own names, and where it lost its way."""
    want, plt, lost = collections.OrderedDict(), set(), []
    now, skip = None, False
    for line in show(path):
        if line.startswith('Disassembly of section'):
            now = None
            skip = '.altinstr' in line
        label = LABEL.match(line)
        if label and not skip:
            now = want.setdefault(int(label.group(1), 16), collections.Counter())
            if '@plt' in label.group(2):
                plt.add(int(label.group(1), 16))
            continue
        cells = line.split('\t')
        if now is None or len(cells) < 2:
            continue
        text = cells[2] if len(cells) > 2 else ''
        if 'repnz (bad)' in text:
            lost.append(int(cells[0].strip(' :'), 16))
        count_line(now, cells[1], text)
    return want, plt, lost


def count_module(path):
    """(section, offset, counts) of each function, in the order of the file."""
    want = []
    section, now, skip = None, None, False
    for line in show(path, '-dr'):
        if line.startswith('Disassembly of section'):
            section, now, skip = line.split()[-1], None, '.altinstr' in line
        label = LABEL.match(line)
        if label and not skip:
            now = collections.Counter()
            want.append((section, int(label.group(1), 16), now))
            continue
        cells = line.split('\t')
        if now is None or len(cells) < 2 or not cells[0].strip():
            continue  # or the second relocation of an instruction, which is of its constant
        name = None
        for kind, symbol in zip(cells[3::2], cells[4::2]):
            if kind.split()[-1] in ('R_X86_64_PLT32', 'R_X86_64_PC32'):
                name = symbol[:-4] if symbol.endswith('-0x4') else symbol
        count_line(now, cells[1], cells[2] if len(cells) > 2 else '', name)
    return want


def compare_module(module, path, table):
    want = count_module(path)
    rows = [r for r in csv.DictReader(open(table)) if r['name'].endswith(' [%s]' % module)]
    if len(want) != len(rows) or not rows:
        sys.exit('%d functions in the disassembly, %d in the table' % (len(want), len(rows)))
    bases, bad = {}, []
    for (section, offset, w), row in zip(want, rows):
        base = int(row['start'], 16) - offset
        if bases.setdefault(section, base) != base:
            bad.append((row['name'], 'start'))
        bad += [(row['name'], k, 'objdump', w[k], 'table', row[k]) for k in
                ('size', 'read', 'write', 'call', 'return', 'free') if row[k] and int(row[k]) != w[k]]
    if bad:
        sys.exit('%d rows, %d differences: %s' % (len(rows), len(bad), bad[:8]))
    print(len(rows))
    sys.exit()


if sys.argv[1] == '--module':
    compare_module(*sys.argv[2:])
want, plt, lost = count(sys.argv[1])
if lost:
    with replace(sys.argv[1], lost) as copy:
        want, plt, lost = count(copy.name)
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
