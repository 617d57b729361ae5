#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The commands of README.md's three starts, run as they stand there.

readme.py README [TITLE...]: each section named TITLE (a part of its title). Its indented lines
that begin with "memorizer" are run in the current folder; the other indented lines are output
that must appear, with any numbers and any blanks.
"""
import re
import subprocess
import sys

text = open(sys.argv[1]).read()
bad = 0
for title in sys.argv[2:]:
    body = re.search(r'^### [^\n]*%s[^\n]*\n(.*?)(?=^##)' % re.escape(title), text, re.S | re.M)
    if not body:
        print('not ok %s: README has no such section' % title)
        bad = 1
        continue
    lines = [l[4:] for l in body.group(1).split('\n') if l.startswith('    ')]
    output = ''
    for command in [l for l in lines if l.startswith('memorizer ')]:
        done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        output += done.stdout.decode(errors='replace')
        if done.returncode:
            print('not ok README: %s: exit status %d: %s' % (command, done.returncode, done.stdout.decode(errors='replace')[-200:]))
            bad = 1
        else:
            print('ok README: %s' % command)

    def shape(line):
        line = re.sub(r'\([^)]*\)', '', line)
        line = re.sub(r'[0-9][0-9.,]*', 'N', line)
        line = re.sub(r'\b[KMG]iB\b|\bbytes\b', 'U', line)
        return ' '.join(line.split())

    shown = [shape(l) for l in output.split('\n')]
    for line in [l for l in lines if not re.match(r'memorizer |make ', l)]:
        first = shape(line).split(' ')[0] if not line.startswith('struct') else 'struct'
        key = ' '.join(shape(line).split(' ')[:2]) if not line.startswith(('struct', 'of ')) else first
        if any(key in s for s in shown):
            print('ok README shows: %s' % key)
        else:
            print('not ok README shows what no command prints: %s' % line)
            bad = 1
sys.exit(bad)
