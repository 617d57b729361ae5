#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The module mz_probe touched the first and the last byte of each object: does the kmap with
print_fields say so?

  probe_fields.py LOG SYMBOLS KMAP    prints ok and not ok lines

LOG and SYMBOLS: as for probe.py. 65535 is the largest place that is told.
"""
import re
import sys

log, symbols, kmap = sys.argv[1:]
text = sorted({int(l.split()[0], 16) for l in open(symbols) if l.split()[1] in "tT"})
touch = next(int(l.split()[0], 16) for l in open(symbols) if " mz_probe_touch" in l)
after = [a for a in text if a > touch]
end = after[0] if after else touch + 4096

objects = []  # (va, size, ranges of mz_probe_touch)
for line in open(kmap):
    f = line.strip().split(",")
    if line[0] != " ":
        objects.append((int(f[2], 16), int(f[3]), set()))
    elif touch <= int(f[0], 16) - 1 < end:
        objects[-1][2].add((int(f[4]), int(f[5])))
failed = 0
said = re.findall(r"mz_probe: (\w+) ([0-9a-f]{16}) (\d+) (?:free|live)", open(log, errors="replace").read())
for kind, va, size in said:
    va, size = int(va, 16), int(size)
    found = [(o[0], o[2]) for o in objects if o[2] and o[0] <= va < o[0] + o[1]]
    if any(ranges == {(min(va - start, 65535), min(va - start + size - 1, 65535))} for start, ranges in found):
        continue
    print(f"not ok {kind} of {size} bytes is touched from its first to its last byte: found {found}")
    failed = 1
if not failed and len(said) > 50:
    print(f"ok {len(said)} objects are touched from their first to their last byte")
elif not failed:
    print(f"not ok the module says what it touched: only {len(said)} objects")
    failed = 1
sys.exit(failed)
