# SPDX-License-Identifier: BSD-2-Clause
"""Several commands in turn, N times: for each the least wall time and the least
user and system time, in seconds. interleave.py N COMMAND --- COMMAND ..."""
import os, subprocess, sys, time

commands, now = [], []
for a in sys.argv[2:] + ['---']:
    if a == '---':
        commands.append(now)
        now = []
    else:
        now.append(a)
best = [[1e9, 1e9] for _ in commands]
for _ in range(int(sys.argv[1])):
    for i, c in enumerate(commands):
        null = open('/dev/null', 'r+')
        start = time.monotonic()
        p = subprocess.Popen(c, stdin=null, stdout=null, stderr=null)
        _, status, used = os.wait4(p.pid, 0)
        wall = time.monotonic() - start
        if status:
            sys.exit('failed: ' + ' '.join(c))
        best[i] = [min(best[i][0], wall), min(best[i][1], used.ru_utime + used.ru_stime)]
for wall, cpu in best:
    print('%.4f %.4f' % (wall, cpu))
