#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memorizer vm --shell on a terminal: types, looks, leaves.

  shell.py exit|escape ARGS...    prints what the shell printed and the exit status
"""
import os
import pty
import sys

pid, fd = pty.fork()
if not pid:
    within = os.path.join(os.path.dirname(os.path.abspath(__file__)), "within.py")
    os.execv(within, [within, "3000", "memorizer", "vm", "--shell"] + sys.argv[2:])
out = b""


def until(wanted):
    """Until that was printed or memorizer has ended, which within.py sees to."""
    global out
    while wanted not in out:
        try:
            out += os.read(fd, 4096)
        except OSError:
            return


until(b"# ")
os.write(fd, b"echo sum is $((20 + 3)) on `tty`\r")
until(b"sum is 23")
os.write(fd, b"exit 5\r" if sys.argv[1] == "exit" else b"\x1d")
until(b"\0never")
print("sum is 23 on /dev/ttyS0" if b"sum is 23 on /dev/ttyS0" in out else out[-300:])
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
