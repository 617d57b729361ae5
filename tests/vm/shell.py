#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memorizer vm --shell on a terminal: types, looks, leaves.

  shell.py exit|escape ARGS...    prints what the shell printed and the exit status
"""
import os
import pty
import select
import sys
import time

pid, fd = pty.fork()
if not pid:
    os.execvp("memorizer", ["memorizer", "vm", "--shell"] + sys.argv[2:])
out = b""


def until(wanted, seconds):
    global out
    end = time.time() + seconds
    while wanted not in out and time.time() < end:
        if select.select([fd], [], [], 1)[0]:
            try:
                out += os.read(fd, 4096)
            except OSError:
                return


until(b"# ", 600)
os.write(fd, b"echo sum is $((20 + 3)) on `tty`\r")
until(b"sum is 23", 300)
os.write(fd, b"exit 5\r" if sys.argv[1] == "exit" else b"\x1d")
until(b"\0never", 300 if sys.argv[1] == "exit" else 20)
print("sum is 23 on /dev/ttyS0" if b"sum is 23 on /dev/ttyS0" in out else out[-300:])
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
