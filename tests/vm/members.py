#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Does each access to a heap object say which member it touches, and is that true?

  members.py KMAP VMLINUX SAMPLE

KMAP: recorded with --fields. VMLINUX: its kernel, with DWARF and the plugin's table. SAMPLE: what
functions allocate (members.sample).
The witnesses are pahole's layout of the structures and the bytes that were touched. Prints ok and
not ok lines.
"""
import bisect
import collections
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "plugin"))
import sites

HEAP = {"KMALLOC", "KMEM_CACHE"}
FAR = 65535
failed = False


def check(good, what):
    global failed
    failed |= not good
    print("ok" if good else "not ok", what)


class Node:
    """A member in pahole's layout, or a structure; offset from the outermost."""

    def __init__(self):
        self.offset, self.size, self.members = 0, 0, []

    def find(self, name):
        for n, node in self.members:
            if n == name:
                return node
            found = node.find(name) if not n else None
            if found:
                return found
        return None


MEMBER = re.compile(r"(?:\(\*+(\w+)\)\(.*\)|(\w*))(?:\[\d*\])*(?::\d+)?;\s*/\*\s*(\d+)(?::\s*\d+)?\s+(\d+)\s*\*/")


def pahole(vmlinux, names):
    """What pahole prints of the structures. It ends at the first one that it does not find. Of
    several it does not find all that it finds alone."""
    names, printed = sorted(names), set()
    rest = names
    while rest:
        r = subprocess.run(["pahole", "-E", "-C", ",".join(rest), vmlinux], capture_output=True, text=True)
        yield from r.stdout.splitlines()
        printed.update(re.findall(r"^(?:struct|union) (\w+) \{", r.stdout, re.M))
        missing = re.search(r"type '(\w+)' not found", r.stderr)
        rest = rest[rest.index(missing[1]) + 1:] if missing else []
    for n in names:
        if n not in printed:
            r = subprocess.run(["pahole", "-E", "-C", n, vmlinux], capture_output=True, text=True)
            yield from r.stdout.splitlines()


def layouts(vmlinux, names):
    """Structures by name."""
    found, stack, name = {}, [], None
    for line in pahole(vmlinux, names):
        line = re.sub(r"\s*__attribute__\(\(__\w+__(\([^)]*\))?\)\)", "", line)
        if re.search(r"\{$", line):
            if not stack:
                name = re.match(r"(?:struct|union) (\w+)", line)[1]
            stack.append(Node())
            continue
        if not stack:
            continue
        size = re.match(r"\t/\* size: (\d+)", line)
        if size and len(stack) == 1:
            stack[0].size = int(size[1])
        member = MEMBER.search(line)
        if re.match(r"\s*\}", line):
            node = stack.pop()
            if not stack:
                found.setdefault(name, node)
                continue
            if not member:
                raise ValueError(line)
        elif not member:
            continue
        else:
            node = Node()
        node.offset, node.size = int(member[3]), int(member[4])
        stack[-1].members.append((member[1] or member[2], node))
    return found


def is_where_pahole_has_it(row, layout):
    """None if the structure is another one of that name, or not known."""
    _, _, _, _, _, type_, path, offset, of = row
    node = layout.get(type_)
    if not node or node.size != of:
        return None
    for name in re.findall(r"[.|](\w+)", path):
        node = node.find(name)
        if not node:
            return False
    if "[]" in path:  # which element is not said
        return True
    # the last member may go on behind the structure
    return node.offset <= offset and (not node.size or offset < node.offset + node.size)


def read_map(path):
    """(site, size, ip, accesses, first, last) of accesses to heap objects; and all their sites."""
    accesses, all_sites = [], set()
    site = None
    for line in open(path):
        f = line.rstrip("\n").split(",")
        if line[0] != " ":
            site = int(f[0], 16) if len(f) >= 11 and f[8] in HEAP else 0
            size = int(f[3])
            if site > 0xffffffff:  # not made before tracking began
                all_sites.add(site)
            else:
                site = 0
        elif site:
            accesses.append((site, size, int(f[0], 16), int(f[2]) + int(f[3]), int(f[4]), int(f[5])))
    return accesses, all_sites


class Names:
    def __init__(self, vmlinux):
        rows = sorted((int(f[0], 16), f[2]) for f in
                      (l.split() for l in subprocess.run(["nm", vmlinux], stdout=subprocess.PIPE, text=True,
                                                         check=True).stdout.splitlines()) if len(f) == 3 and f[1] in "tT")
        self.starts, self.names = [r[0] for r in rows], [r[1] for r in rows]

    def at(self, ip):
        i = bisect.bisect_left(self.starts, ip) - 1
        name = re.sub(r"\.(constprop|isra|part|cold)\b.*", "", self.names[i])
        return name, f"{name}+0x{ip - self.starts[i]:x}"


def ask(question, vmlinux, kmap):
    return json.loads(subprocess.run(["memorizer", "kmap", question, "*", "--json", "--symbols", vmlinux, kmap],
                                     stdout=subprocess.PIPE, check=True).stdout)


def read_types(vmlinux, kmap):
    """Structures by the place that allocates, "function+0xoffset"; "": not known."""
    told = collections.defaultdict(set)
    for row in ask("object", vmlinux, kmap)["types"]:
        told[row["site"].split(" ")[0]].add(row["struct"].split(" ")[-1])
    return told


def share(part, whole):
    return 100 * part / whole if whole else 0


def check_members(accesses, types, table, layout):
    """Of the accesses to objects whose structure is known."""
    total = sum(a[3] for a in accesses if types[a[0]])
    carry = bad = unknown = same = other = 0
    lacking, strange, wrong = collections.Counter(), collections.Counter(), set()
    for site, size, ip, n, first, last in accesses:
        row = table.get(ip)
        if not types[site]:
            continue
        if not row or not row[8]:
            lacking[ip] += n
            continue
        carry += n
        good = is_where_pahole_has_it(row, layout)
        bad += n * (good is False)
        unknown += n * (good is None)
        strange[row[5]] += n * (good is None)
        if good is False:
            wrong.add(row)
        # the object is that structure, alone: its bytes are those of the member
        if row[5] in types[site] and row[8] == size and row[6] and "[]" not in row[6] and first != FAR:
            same += n * (first == last == row[7])
            other += n * (first != row[7])
    print(f"# of {total} accesses to structures, the table of access sites has a structure for {share(carry, total):.2f} %")
    check(not bad, f"every member is where pahole has it: {carry - unknown} accesses, {len(wrong)} wrong sites")
    for row in sorted(wrong)[:20]:
        print("#", *row)
    print("# structures that pahole does not have, or of another size:", *strange.most_common(12))
    check(share(unknown, carry) < 1, f"pahole knows all but {share(unknown, carry):.3f} % of them")
    check(share(other, same + other) < 0.1,
          f"the bytes that were touched are the member's: {same} accesses, {other} elsewhere")
    return lacking


def check_answers(kmap, vmlinux, types):
    """The same by what memorizer says, which has the bytes to tell where the table does not."""
    total = 0
    with open("structures.kmap", "w") as out:
        chosen = False
        for line in open(kmap):
            if line[0] != " ":
                chosen = line.split(",")[8] in HEAP and bool(types.get(int(line.split(",")[0], 16)))
            elif chosen:
                total += sum(map(int, line.split(",")[2:4]))
            if chosen:
                out.write(line)
    told = collections.Counter()
    for row in ask("fields", vmlinux, "structures.kmap")["fields"]:
        told[row["member"] if row["member"][0] == "(" else "a member"] += row["reads"] + row["writes"]
    print("#", *(f"{n} {what}," for what, n in told.most_common()), total - sum(told.values()), "nothing")
    good = told["a member"] + told["(all of it)"]
    check(share(good, total) >= 95, f"{share(good, total):.2f} % of {total} accesses to structures carry a member")


def check_sites(types, names, sample):
    """types: by address of the allocation."""
    right = dict(line.split() for line in open(sample) if line.strip() and line[0] != "#")
    right = {f: set(t.split(",")) for f, t in right.items()}
    wrong = {names.at(ip)[1]: t for ip, t in types.items() if t - right.get(names.at(ip)[0], t)}
    seen = sum(names.at(ip)[0] in right for ip in types)
    check(not wrong, f"no allocation site has a wrong type: {wrong or seen} of {len(types)} were checked by hand")
    check(seen >= 40, f"{seen} of them are in the recording")
    known = sum(1 for t in types.values() if t)
    bytes_ = [ip for ip, t in types.items() if not t and "-" in right.get(names.at(ip)[0], ())]
    check(share(known, len(types) - len(bytes_)) >= share(110, 121),
          f"{known} of {len(types) - len(bytes_)} allocation sites of structures have a type; {len(bytes_)} more are of bytes")
    print("# no type:", *sorted(names.at(ip)[1] for ip, t in types.items() if not t))


def main():
    kmap, vmlinux, sample = sys.argv[1:4]
    table = {row[0]: row for row in sites.table(vmlinux)}
    names = Names(vmlinux)
    accesses, all_sites = read_map(kmap)
    told = read_types(vmlinux, kmap)
    types = {ip: told.get(names.at(ip)[1], set()) - {""} for ip in all_sites}
    check_answers(kmap, vmlinux, types)
    layout = layouts(vmlinux, {table[a[2]][5] for a in accesses if a[2] in table and table[a[2]][5]})
    lacking = check_members(accesses, types, table, layout)
    print("# not in the table:", *(f"{names.at(ip)[1]} {n}" for ip, n in lacking.most_common(12)))
    check_sites(types, names, sample)


main()
sys.exit(failed)
