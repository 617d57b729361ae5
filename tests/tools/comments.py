#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Count the lines of C files that have a comment: comments.py FOLDER... prints, for each folder,
its share among the lines that are not blank, in percent."""

import pathlib
import re
import sys

# What looks like a comment inside a text or a character is none, so these are matched first.
PART = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)


def count(text):
    """(lines with a comment, lines that are not blank)"""
    commented = set()
    for part in PART.finditer(text):
        if part.group().startswith('/'):
            first = text.count('\n', 0, part.start())
            # a blank line inside a comment does not count as one
            commented.update(first + i for i, line in enumerate(part.group().split('\n'))
                             if line.strip())
    return len(commented), sum(1 for line in text.split('\n') if line.strip())


def main():
    for folder in sys.argv[1:]:
        with_comment = lines = 0
        for path in sorted(pathlib.Path(folder).iterdir()):
            if path.suffix in ('.c', '.h', '.S'):
                a, b = count(path.read_text())
                with_comment += a
                lines += b
        print(folder.rstrip('/'), '%.1f' % (100 * with_comment / lines) if lines else 'empty')


main()
