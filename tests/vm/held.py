#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Watch words of a guest's kernel, and see whether a mutex is held when they change.

  held.py SOCKET BUILD MEMBER...    members of memorizer_totals, of the kernel in BUILD

A debugger at QEMU's -gdb SOCKET. Two CPUs that change a word at the same time lose a count
so rarely that no test can wait for it; that the word changed without the lock is seen the
first time. Until the guest ends; then says for each MEMBER how often it changed, and how
often without memorizer_mutex held by the task that changed it.
"""
import re
import socket
import sys
import time

from kernel_cc import offsets

RIP, GS_BASE = 16, 25  # the registers' numbers in QEMU's description of x86-64


class Debugger:
    def __init__(self, path):
        self.s = socket.socket(socket.AF_UNIX)
        while True:  # QEMU may not be there yet; the caller ends us if it never comes
            try:
                self.s.connect(path)
                break
            except OSError:
                time.sleep(0.05)
        self.buf = b""
        print("watching", file=sys.stderr, flush=True)

    def packet(self):
        while True:
            found = re.search(rb"\$([^#]*)#..", self.buf)
            if found:
                self.buf = self.buf[found.end():]
                self.s.sendall(b"+")
                return found[1].decode()
            got = self.s.recv(65536)
            if not got:
                raise EOFError
            self.buf += got

    def send(self, text):
        self.s.sendall(b"$%s#%02x" % (text.encode(), sum(text.encode()) & 0xff))

    def ask(self, text):
        self.send(text)
        while True:
            answer = self.packet()
            if not answer.startswith("T"):  # that the guest was stopped for us
                return answer

    def word(self, addr):
        """Eight bytes of memory, or None where nothing is mapped."""
        answer = self.ask(f"m{addr:x},8")
        return None if len(answer) != 16 else int.from_bytes(bytes.fromhex(answer), "little")

    def register(self, number):
        return int.from_bytes(bytes.fromhex(self.ask(f"p{number:x}")), "little")


def watch(d, words, mutex, current, init, changes):
    values = {}
    d.ask("qXfer:features:read:target.xml:0,1000")  # QEMU names no register before
    for addr in words:
        if d.ask(f"Z2,{addr:x},8") != "OK":
            sys.exit("held.py: QEMU has no watchpoints")
    while True:
        d.send("c")
        stop = d.packet()
        if stop[0] in "WX":
            return
        at = re.search(r"watch:([0-9a-f]+);", stop)
        addr = int(at[1], 16) & ~7 if at else None
        if addr not in words:
            continue
        value = d.word(addr)
        if value is None or value == values.get(addr, 0):
            continue
        values[addr] = value
        if d.register(RIP) in init:  # the boot clears what was in the memory before
            continue
        owner, task = d.word(mutex), d.word(d.register(GS_BASE) + current)
        held = owner is not None and owner & ~7 and owner & ~7 == task
        changes[words[addr]][0] += 1
        changes[words[addr]][1] += not held


def main():
    path, build, *members = sys.argv[1:]
    symbols = {name: int(addr, 16) for addr, _, name in map(str.split, open(f"{build}/System.map"))}
    # the running task is the first word of pcpu_hot; older kernels have it alone
    current = symbols.get("pcpu_hot", symbols.get("current_task"))
    init = range(symbols["_sinittext"], symbols["_einittext"])
    at = offsets(build, "struct memorizer_totals", members)
    words = {symbols["memorizer_totals"] + at[m]: m for m in members}
    changes = {name: [0, 0] for name in words.values()}
    try:
        watch(Debugger(path), words, symbols["memorizer_mutex"], current, init, changes)
    except (EOFError, ConnectionError):
        pass  # the guest has ended
    for name, (n, without) in changes.items():
        print(name, n, without)


main()
