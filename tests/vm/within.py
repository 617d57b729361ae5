#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Run a command within so much CPU time of its own, its children's included.

  within.py SECONDS COMMAND...    its exit status; 124 after the limit

A limit by the clock fails where the machine is busy with something else. CPU time grows
only as far as the machine lets the command work, so that the limit means the same
everywhere. Without any CPU time for ten minutes it hangs, which is the other limit.
"""
import os
import signal
import sys
import time

IDLE = 600


def children(pid):
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
        found = [int(c) for t in tasks for c in open(f"/proc/{pid}/task/{t}/children").read().split()]
    except OSError:
        return []
    return found + [g for c in found for g in children(c)]


def cpu_seconds(pid):
    """Of a process, and of its children that were waited for."""
    try:
        fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def main():
    limit, command = float(sys.argv[1]), sys.argv[2:]
    pid = os.fork()
    if not pid:
        os.execvp(command[0], command)
    for sig in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sig, lambda number, frame: os.kill(pid, number))
    most, moved, late = 0, time.monotonic(), False
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        used = sum(map(cpu_seconds, [pid] + children(pid)))
        if used > most:
            most, moved = used, time.monotonic()
        if not late and (most > limit or time.monotonic() - moved > IDLE):
            late = True
            print(f"within.py: {command[0]}: ended after {most:.0f} s of CPU time, limit {limit:.0f}", file=sys.stderr)
            os.kill(pid, signal.SIGTERM)
        time.sleep(0.05 if most < 5 else 0.5)
    code = os.waitstatus_to_exitcode(status)
    sys.exit(124 if late else code if code >= 0 else 128 - code)


main()
