#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Names that nobody would choose, as a DHAT file and as a file of heaptrack; and the
# exports of them, read back. usage: hostile.py make | check
import csv
import json
import re
import sqlite3
import sys

# as a reader must see them: text that is no UTF-8 is replaced, and NUL is a blank
NAMES = ['quote"\'`', 'semi;colon, comma', 'new\nline\ttab\r', '</script><img src=x onerror=alert(1)>',
         "'; DROP TABLE sites; --", '=cmd|calc', '\\u0041\\', '\x1b[31mred', 'caf\u00e9 \u4e2d \U0001f600',
         '#{lambda()#1}', '%s%n%d', 'a b (in c', '[root]', '-1', 'x' * 5000, '\u202egnp.exe', 'nul\0byte', 'bad\udcff\udcfeutf']
SEEN = [n.replace('\0', ' ').replace('\udcff', '\ufffd').replace('\udcfe', '\ufffd') for n in NAMES]


def cell(text):
    """as CSV has it: nothing that a spreadsheet would run"""
    return "'" + text if text[:1] in tuple('=+-@\t\r') else text


def raw(text):
    return text.encode('utf-8', 'surrogateescape')


def make():
    frames = [b'"[root]"'] + [json.dumps('@' + n, ensure_ascii=False).encode('utf-8', 'surrogateescape')
                              .replace(b'"@', b'"0x10: ', 1)[:-1] + b' (f.c:7)"' for n in NAMES]
    points = [b'{"tb": %d, "tbk": 1, "tl": 1, "mb": 1, "mbk": 1, "gb": %d, "gbk": 1, "eb": 0, "ebk": 0, "fs": [%d]}'
              % (i + 1, i + 1, i + 1) for i in range(len(NAMES))]
    with open('hostile.json', 'wb') as f:
        f.write(b'{"dhatFileVersion": 2, "mode": "x", "verb": "Allocated", "bklt": true, "bkacc": false, "tu": "ns", '
                b'"Mtu": "ms", "tuth": 1, "cmd": ' + json.dumps(NAMES[3] + NAMES[0]).encode() +
                b', "pid": 1, "te": 9, "tg": 1, "pps": [' + b','.join(points) + b'], "ftbl": [' + b','.join(frames) + b']}')
    with open('hostile.ht', 'wb') as f:
        f.write(b'v 10400 2\nX evil "command" \xff\n')
        for i, n in enumerate(NAMES):
            line = raw(n).replace(b'\n', b' ').replace(b'\r', b' ').replace(b'\0', b' ')
            f.write(b's ' + line + b'\ni %x %x %x\nt %x 0\na %x %x\n+ %x\n' % (4096 + i, i + 1, i + 1, i + 1, i + 1, i + 1, i))


def check():
    sites = json.load(open('hostile.speedscope'))
    got = [f['name'] for f in sites['shared']['frames'] if f['name'] != '[root]' or f.get('file')]
    assert sorted(set(got)) == sorted(set(SEEN)), set(got) ^ set(SEEN)
    dhat = json.load(open('hostile.dhat'))
    assert {re.sub(r'^0x10: (.*) \(f\.c:7\)$', r'\1', f, flags=re.S) for f in dhat['ftbl'][1:]} >= set(SEEN) - {'[root]'}
    assert dhat['cmd'] == NAMES[3] + NAMES[0]
    fox = json.load(open('hostile.firefox'))
    assert set(SEEN) <= set(fox['threads'][0]['stringArray'])
    rows = list(csv.DictReader(open('hostile.csv', newline='', encoding='utf-8')))
    assert {r['function']: int(r['bytes']) for r in rows} == {cell(n): i + 1 for i, n in enumerate(SEEN)}
    assert not any(v[:1] in tuple('=+-@\t\r') for r in rows for v in r.values() if not v.lstrip('-').isdigit())
    lines = [json.loads(x) for x in open('hostile.jsonl', encoding='utf-8')]
    assert {r['function']: r['bytes'] for r in lines} == {n: i + 1 for i, n in enumerate(SEEN)}
    db = sqlite3.connect('hostile.sqlite')
    assert dict(db.execute('SELECT function, bytes FROM sites')) == {n: i + 1 for i, n in enumerate(SEEN)}
    flat = open('hostile.collapsed', encoding='utf-8').read().split('\n')
    assert flat.pop() == '' and len(flat) == len(NAMES)
    assert sorted(int(x.rsplit(' ', 1)[1]) for x in flat) == list(range(1, len(NAMES) + 1))
    assert not any(';' in x for x in flat)
    massif = open('hostile.massif', encoding='utf-8').read().split('\n')
    assert sum('0x10: ' in x for x in massif) == len(NAMES) and not any('#' in x for x in massif if '0x10' in x)
    # heaptrack: as many strings as names, each in its line
    again = open('hostile.heaptrack', encoding='utf-8').read().split('\n')
    strings = [x[2:] for x in again if x.startswith('s ')]
    want = [re.sub(r'[\x00-\x1f]', ' ', n) for n in SEEN]
    assert set(strings) == set(want), set(strings) ^ set(want)
    for name in ('hostile.events.csv', 'hostile.events.jsonl'):
        open(name, encoding='utf-8').read()
    functions = [r['function'] for r in csv.DictReader(open('hostile.events.csv', newline='', encoding='utf-8'))]
    assert len(functions) == len(NAMES) and SEEN[0] in functions and SEEN[4] in functions
    assert [cell(json.loads(x)['function']) for x in open('hostile.events.jsonl', encoding='utf-8')] == functions


make() if sys.argv[1] == 'make' else check()
