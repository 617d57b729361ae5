# SPDX-License-Identifier: BSD-2-Clause
"""What an event costs under each recorder: kmemcost.py BUILD TRACEFS ROUNDS.

A program that does little but make the kernel allocate (kmemloop) is pinned to
the first CPU, the recorder to the last. In each of many short rounds all
recorders come by, in turn, and the program without any before and after each:
a cost is the difference to the mean of the two, so that a machine that is slow
for a while is slow for both. Printed are, of all rounds, the median and the
quartiles, and the ratios of medians. Two costs are told apart: that of the
program, on its CPU, and that of the recorder, on the other.

The kernel's own count of the time in our programs (bpf_stats) is the witness."""
import json, os, re, resource, shutil, statistics, subprocess, sys, tempfile

build, tracefs, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
kmemtraced, loop = build + '/bin/kmemtraced', build + '/tests/tools/kmemloop'
chunks, each, events = 200, 300, 4  # 60000 iterations a run, 4 events in each
last = str(os.cpu_count() - 1)
points = ['kmalloc', 'kfree', 'kmem_cache_alloc', 'kmem_cache_free']
work = tempfile.mkdtemp()


def run(before):
    """ns of an iteration; CPU seconds of all others than the program."""
    command = ['taskset', '-c', last] + before + [loop, '0', str(chunks), str(each)]
    r0 = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    r1 = resource.getrusage(resource.RUSAGE_CHILDREN)
    ns, cpu = re.search(r'^([0-9.]+) ([0-9.]+)$', out, re.M).groups()
    return float(ns), r1.ru_utime + r1.ru_stime - r0.ru_utime - r0.ru_stime - float(cpu)


def ftrace():
    here = '%s/instances/cost%d' % (tracefs, os.getpid())
    os.mkdir(here)
    try:
        for p in points:
            open('%s/events/kmem/%s/enable' % (here, p), 'w').write('1')
        return run([])
    finally:
        os.rmdir(here)


perf = ['perf', 'record', '-q', '-a', '-o', work + '/perf.data']
for p in points:
    perf += ['-e', 'kmem:' + p]
ours = [kmemtraced, '-q', '-f', '-o', work + '/ours']
recorders = {
    'ours': lambda: run(ours + ['--']),
    'rescue': lambda: run(ours + ['--rescue', '--']),
    'summary': lambda: run([kmemtraced, '-q', '--summary', '--']),
    'ftrace': ftrace,
    'perf': lambda: run(perf + ['--']),
}
cost = {k: [] for k in recorders}
beside = {k: [] for k in recorders}
bare = run([])
for i in range(rounds):
    for name, f in recorders.items():
        ns, cpu = f()
        then = run([])
        cost[name].append((ns - (bare[0] + then[0]) / 2) / events)
        beside[name].append(cpu * 1e9 / (chunks * each * events))
        bare = then

# a run of no length: what a recorder needs to start and to end is not an event's
chunks, each, full = 1, 1, chunks * each
idle = {k: statistics.median(recorders[k]()[1] for _ in range(3)) * 1e9 / (full * events) for k in recorders}


def middle(v):
    q = statistics.quantiles(v, n=4)
    return '%.0f ns (%.0f to %.0f)' % (q[1], q[0], q[2])


def row(what, name, peer, text, bar):
    a, b = statistics.median(cost[name]), statistics.median(cost[peer])
    print('%s\t%s\t%.2f\t%s\t%s' % (what, middle(cost[name]), a / b, text % middle(cost[peer]), bar))


def witness():
    """The kernel's own ns a run of our programs, which has a clock of its own in it."""
    switch, show = '/proc/sys/kernel/bpf_stats_enabled', '; bpftool -j prog show'
    was = open(switch).read()
    try:
        open(switch, 'w').write('1')
        out = subprocess.run(ours + ['--', 'sh', '-c', '%s 0 400 300%s' % (loop, show)],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    finally:
        open(switch, 'w').write(was)
    found = [p for p in json.loads(out[out.index('['):]) if p.get('name') in [q + '_1' for q in points]]
    return sum(p['run_time_ns'] for p in found) / sum(p['run_cnt'] for p in found)


row('cost an event, everything written', 'ours', 'perf', 'perf record (%s)', '<= 0.17')
row('cost an event, everything written', 'ours', 'ftrace', 'ftrace, no reader (%s)', '<= 0.50')
row('cost an event, --summary', 'summary', 'ours', 'kmemtraced (%s)', '<= 0.60')
row('cost an event, --rescue', 'rescue', 'ours', 'kmemtraced (%s)', '')
mine, theirs = (statistics.median(beside[k]) - idle[k] for k in ('ours', 'perf'))
print('CPU of the recorder beside it, an event\t%.0f ns\t%.2f\tperf record (%.0f ns)\t' %
      (mine, mine / theirs, theirs))
if shutil.which('bpftool'):
    print('of it inside the programs, as the kernel counts\t%.0f ns\t\t\t' % witness())
shutil.rmtree(work)
