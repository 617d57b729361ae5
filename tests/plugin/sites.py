#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Join the counts of runtime.c with the site table of a program.

  sites.py PROGRAM COUNTS        prints: FUNCTION TYPE MEMBERS SIZE READS WRITES, summed, sorted
  sites.py --table PROGRAM       prints the table: ADDRESS KIND SIZE FILE:LINE FUNCTION TYPE MEMBERS OFFSET TYPE-SIZE
"""
import collections
import struct
import subprocess
import sys
import tempfile


def section(program, name):
    with tempfile.NamedTemporaryFile() as f:
        subprocess.run(["objcopy", "-O", "binary", "--only-section=" + name,
                        "--set-section-flags", name + "=alloc", program, f.name], check=True)
        return open(f.name, "rb").read()


def table(program):
    strings = section(program, ".memorizer_strings")

    def text(at):
        return strings[at:strings.index(b"\0", at)].decode()

    for row in struct.iter_unpack("<QIIIIIIIHBB", section(program, ".memorizer_sites")):
        address, file, function, kind_of, members, line, offset, of, size, kind, _ = row
        yield address, "rwx"[kind], size, f"{text(file)}:{line}", text(function), text(kind_of), text(members), offset, of


def main():
    if sys.argv[1] == "--table":
        for row in table(sys.argv[2]):
            print("%x" % row[0], *("-" if x == "" else x for x in row[1:]))
        return
    known = {row[0]: row for row in table(sys.argv[1])}
    sums = collections.defaultdict(lambda: [0, 0])
    for line in open(sys.argv[2]):
        ip, reads, writes = line.split()
        _, kind, size, _, function, kind_of, members, _, _ = known[int(ip, 16)]
        if kind == "r" and int(writes) or kind == "w" and int(reads):
            sys.exit(f"{ip} is counted as what it is not")
        total = sums[function, kind_of or "-", members or "-", size]
        total[0] += int(reads)
        total[1] += int(writes)
    for key, (reads, writes) in sorted(sums.items()):
        print(*key, reads, writes)


if __name__ == "__main__":
    main()
