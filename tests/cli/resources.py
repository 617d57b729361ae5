#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Each verb on each hostile file: what it takes of memory and of CPU time, against what
# docs/security.md promises. usage: resources.py DIR NAME... < lines "VERB ARGUMENTS"
import os
import resource
import signal
import subprocess
import sys

MIB = 1 << 20
CONSTANT, FACTOR = 256 * MIB, 1024  # of docs/security.md
PROGRAM = 48 * MIB                  # code, libraries and fixed buffers
SECONDS = 30                        # of CPU; 0.1 to 3 as a rule
ROOM = 6 << 30                      # so that a failure cannot harm the machine


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS + 2, SECONDS + 2))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command):
    """exit status (negative: signal), peak memory of it and its children, CPU seconds"""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open('stderr', 'wb'),
                             preexec_fn=limits)
    _, status, usage = os.wait4(child.pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime


def main():
    folder, names, failed = sys.argv[1], sys.argv[2:], False
    verbs = [line.split() for line in sys.stdin if line.strip()]
    for name in names:
        path = os.path.join(folder, name)
        allowed = CONSTANT + PROGRAM + FACTOR * os.path.getsize(path)
        for verb in verbs:
            status, memory, seconds = run([w.replace('IN', path) if w == 'IN' else w for w in verb])
            what = '%s: %s' % (name, ' '.join(verb))
            said = open('stderr', errors='replace').read().strip().split('\n')[0][:150]
            for extra in ('out', 'out.part'):
                if os.path.exists(extra):
                    os.unlink(extra)
            if status < 0:
                why = 'signal %s' % signal.Signals(-status).name
            elif status > 3:
                why = 'exit status %d' % status
            elif memory > allowed:
                why = '%d MiB, %d allowed' % (memory // MIB, allowed // MIB)
            elif seconds > SECONDS:
                why = '%.0f s of CPU' % seconds
            else:
                print('ok %s' % what)
                if os.environ.get('VERBOSE'):
                    print('# %d MiB, %.2f s, %d: %s' % (memory // MIB, seconds, status, said))
                continue
            failed = True
            print('not ok %s: %s (%.1f s, %d MiB; said: %s)' % (what, why, seconds, memory // MIB, said))
    sys.exit(failed)


main()
