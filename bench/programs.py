# SPDX-License-Identifier: BSD-2-Clause
"""Record real programs with their call stacks, and compare with the bare run and with
heaptrack: output, exit status, blocks, peak, rooted stacks, size of the file, CPU time.

programs.py [--rows|--test] [--repeat N] [NAME...]   default: all, as a Markdown table
Exit status 1 if a bar is broken. Run it in an empty folder, with memorizer in PATH. CPU time is
that of all processes until the file is there: of the recorder, and of heaptrack's interpreter."""
import argparse, json, math, os, re, shutil, subprocess, sys, tempfile

sys.dont_write_bytecode = True
from catalogue import catalogue

# Frames from which every stack of a program or of a thread begins. A stripped program
# has no name for its _start: then its caller in the C library counts.
ROOTS = re.compile(r'^(_start|__libc_start_(main|call_main).*|(__)?clone3?|start_thread'
                   r'|_dl_(init|start|start_user)|call_init)$')
LOADER = re.compile(r'(^|/)ld-linux')
PEER = '/usr/lib/heaptrack/libheaptrack_preload.so'
# Both record one run: Memorizer is called first, and heaptrack is what it takes for the allocator.
BOTH = 'export DUMP_HEAPTRACK_OUTPUT=both.raw LD_PRELOAD="$LD_PRELOAD:%s"; exec "$@"' % PEER
# Between runs a peak differs: by the environment, of which many programs make a copy, and by
# libstdc++'s pool, which heaptrack brings along; by a table for each range of addresses that a
# collector uses ('tables'); where calls depend on time, by more.
POOL = 72704
PEAK_EXACT, PEAK_CLOSE = 8192, 0.05


def is_root(frames):
    """Of a stack the two outermost frames: (module, function)."""
    return any(ROOTS.match(f.split('(')[0]) or LOADER.search(m) for m, f in frames)


class Heaptrack:
    """What a file of heaptrack says, read without Memorizer."""
    def __init__(self, path):
        self.strings, self.ips, self.traces = [''], [(0, 0)], [(0, 0)]
        self.trace_of, self.counts = [], []
        text = subprocess.run(['zstd', '-dc', path], capture_output=True, check=True).stdout
        self.read(text.split(b'\n'))
        self.blocks = sum(self.counts)
        known = {}
        good = sum(n for n, t in zip(self.counts, self.trace_of) if self.is_rooted(t, known))
        self.rooted = good / max(self.blocks, 1)

    def read(self, lines):
        for line in lines:
            kind = line[:1]
            if kind == b'+':
                self.counts[int(line[2:], 16)] += 1
            elif kind == b's':
                self.strings.append(line.split(b' ', 2)[2].decode('utf-8', 'replace'))
            elif kind in (b'a', b't', b'i'):
                self.table(kind, [int(x, 16) for x in line.split()[1:]])

    def table(self, kind, row):
        if kind == b'a':
            self.trace_of.append(row[1])
            self.counts.append(0)
        elif kind == b't':
            self.traces.append((row[0], row[1]))
        else:
            # of inlined functions the outermost is last, and so is the one that has the address
            self.ips.append((row[1], row[2] if len(row) > 2 else 0))

    def frame(self, trace):
        module, function = self.ips[self.traces[trace][0]]
        return self.strings[module], self.strings[function]

    def is_rooted(self, trace, known):
        path = []
        while trace and trace not in known:
            path.append(trace)
            trace = self.traces[trace][1]
        ok = known[trace] if trace else is_root([self.frame(t) for t in path[-2:]])
        for t in path:
            known[t] = ok
        return ok


class Recording:
    """What Memorizer says about its own."""
    def __init__(self, path, said):
        t = subprocess.run(['memorizer', 'report', '--json', path], capture_output=True, check=True).stdout
        report = json.loads(t)
        self.blocks, self.peak = report['blocks'], report['peak_bytes']
        stacks = report.get('stacks', {'blocks': 0, 'rooted': 0})
        self.said_rooted = stacks['rooted'] / max(stacks['blocks'], 1)
        self.rooted = self.by_name(path)
        self.events = report['events']
        self.lost = report['lost']['total']
        self.said = said
        self.bytes = os.path.getsize(path)

    def by_name(self, path):
        """Rooted by the names of the frames, as for heaptrack; not by what the recorder noted."""
        t = subprocess.run(['memorizer', 'export', '--to', 'collapsed', '--metric', 'blocks', path],
                           capture_output=True, check=True).stdout.decode('utf-8', 'replace')
        good = total = 0
        for line in t.splitlines():
            stack, _, n = line.rpartition(' ')
            frames = stack.split(';')
            total += int(n)
            good += int(n) * is_root([(f.split('+0x')[0] if '+0x' in f else '', f) for f in frames[:2]])
        return good / max(total, 1)


def run_once(prefix, p):
    """Exit status, output, CPU time with all that it waited for, and standard error."""
    env = dict(os.environ, LC_ALL='C.UTF-8', **p.get('env', {}))
    subprocess.run(p.get('before', 'true'), shell=True, check=True)
    # files of their own: what is left of the run before may still be writing
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(['setarch', '-R'] + prefix + p['argv'], stdin=subprocess.DEVNULL,
                                 stdout=out, stderr=err, env=env)
        load = subprocess.run(p['load'], shell=True, capture_output=True) if 'load' in p else None
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = status
        out.seek(0)
        err.seek(0)
        said, told = out.read(), err.read().decode('utf-8', 'replace')
    said = load.stdout if load else said
    if 'result' in p:
        said += open(p['result'], 'rb').read() if os.path.exists(p['result']) else b'(none)'
    return os.waitstatus_to_exitcode(status), said, used.ru_utime + used.ru_stime, told


def run(prefix, p, repeat):
    """Of several runs, the one with the least CPU time: other work only ever adds."""
    return min((run_once(prefix, p) for _ in range(repeat)), key=lambda r: r[2])


def raw_sums(path):
    """Blocks, bytes and peak of heaptrack's events, as it wrote them in the program."""
    live, now, peak, blocks, total = {}, 0, 0, 0, 0
    for line in open(path, 'rb'):
        if line[:1] == b'+':
            _, size, _, address = line.split()
            size = int(size, 16)
            live[address] = size
            blocks += 1
            total += size
            now += size
            peak = max(peak, now)
        elif line[:1] == b'-':
            now -= live.pop(line.split()[1], 0)
    return blocks, total, peak


def unknown_to_heaptrack(path):
    """(blocks, bytes) of calls that heaptrack does not replace."""
    calls = json.loads(subprocess.run(['memorizer', 'report', '--json', path], capture_output=True, check=True).stdout)['calls']
    if not any(c in calls for c in ('memalign', 'valloc', 'pvalloc')):
        return 0, 0
    t = subprocess.run(['memorizer', 'cat', path], capture_output=True, check=True).stdout.decode('utf-8', 'replace')
    sizes = [int(m) for m in re.findall(r'^(?:memalign\(\d+, |p?valloc\()(\d+)\)', t, re.M)]
    return len(sizes), sum(sizes)


def count_together(p):
    """(blocks, bytes) of one run that both record, without heaptrack's own calls; and the peak of a
    run that heaptrack alone records, whose environment is as large as that of ours."""
    run_once(['env', 'DUMP_HEAPTRACK_OUTPUT=alone.raw', 'LD_PRELOAD=' + PEER], p)
    peak = raw_sums('alone.raw')[2]
    run_once(['memorizer', 'record', '--wait', '-f', '--stacks', '-o', 'both.cmt', '--', 'sh', '-c', BOTH, 'sh'], p)
    blocks, total, _ = raw_sums('both.raw')
    more = unknown_to_heaptrack('both.2.cmt')
    ours = []
    for metric, unknown in zip(('blocks', 'total'), more):
        t = subprocess.run(['memorizer', 'export', '--to', 'collapsed', '--metric', metric, 'both.2.cmt'],
                           capture_output=True, check=True).stdout.decode('utf-8', 'replace')
        ours.append(sum(int(line.rpartition(' ')[2]) for line in t.splitlines() if 'heaptrack' not in line) - unknown)
    return tuple(ours), (blocks, total), peak


def judge(p, bare, mine, ours, theirs, together):
    """The bars that are broken, as sentences."""
    why = []
    if mine[0] != bare[0]:
        why.append('exit status %d instead of %d' % (mine[0], bare[0]))
    if mine[1] != bare[1]:
        why.append('the output differs: %r instead of %r' % (mine[1][:80], bare[1][:80]))
    if not ours:
        return why + ['nothing was recorded']
    if ours.lost:
        why.append('%d events lost' % ours.lost)
    if abs(ours.rooted - ours.said_rooted) > 0.005:
        why.append('rooted: %.2f %% said, %.2f %% by name' % (100 * ours.said_rooted, 100 * ours.rooted))
    if p.get('own'):
        if 'defines malloc itself' not in ours.said and 'come from no recorded call' not in ours.said:
            why.append('its own allocator is not mentioned')
        return why
    need = theirs.rooted if p.get('runtime') else 0.99
    if ours.rooted < min(need, 0.999):
        why.append('rooted %.2f %%, heaptrack %.2f %%' % (100 * ours.rooted, 100 * theirs.rooted))
    if together[0] != together[1]:
        why.append('in one run: %d blocks of %d bytes, heaptrack %d of %d' % (together[0] + together[1]))
    peak = together[2]
    most = max(PEAK_EXACT + p.get('tables', 0), PEAK_CLOSE * peak * (not p.get('exact')))
    if min(abs(peak - ours.peak), abs(peak - POOL - ours.peak)) > most:
        why.append('peak %d, heaptrack %d' % (ours.peak, peak))
    return why


def measure(p, repeat):
    if 'make' in p:
        p['make']()
    bare = run([], p, repeat)
    mine = run(['memorizer', 'record', '--wait', '-f', '--stacks', '-o', 'ours.cmt', '--'], p, repeat)
    ours = Recording('ours.cmt', mine[3]) if os.path.exists('ours.cmt') else None
    row = {'name': p['name'], 'ours': ours, 'theirs': None, 'cpu': mine[2] / max(bare[2], 1e-3)}
    together = None
    if not p.get('own'):
        together = count_together(p)
        peer = run(['heaptrack', '-o', 'theirs'], p, repeat)
        row['theirs'] = Heaptrack('theirs.zst')
        row['peer_cpu'] = peer[2] / max(bare[2], 1e-3)
        row['peer_bytes'] = os.path.getsize('theirs.zst')
    row['why'] = judge(p, bare, mine, ours, row['theirs'], together)
    row['together'] = together
    for f in ('ours.cmt', 'theirs.zst', 'both.cmt', 'both.2.cmt', 'both.raw', 'alone.raw'):
        if os.path.exists(f):
            os.unlink(f)
    return row


def cells(r):
    o, t = r['ours'], r['theirs']
    if not o:
        return [r['name'], '', '', '', '', '', '; '.join(r['why'])]
    if not t:
        return [r['name'], '%s' % f'{o.blocks:,}', '', '%.1f' % (100 * o.rooted), '%d KB' % (o.bytes / 1000),
                '%.2f' % r['cpu'], '; '.join(r['why']) or 'holds: its own allocator is mentioned']
    return [r['name'], f"{r['together'][0][0]:,} / {r['together'][1][0]:,}", f"{o.peak:,} / {r['together'][2]:,}",
            '%.1f / %.1f' % (100 * o.rooted, 100 * t.rooted),
            '%.1f / %.1f KB (%.2f)' % (o.bytes / 1e3, r['peer_bytes'] / 1e3, o.bytes / r['peer_bytes']),
            '%.2f / %.2f' % (r['cpu'], r['peer_cpu']), '; '.join(r['why']) or 'holds']


def is_there(p):
    return shutil.which(p.get('need') or p['argv'][0]) and shutil.which('heaptrack')


def show(form, c):
    if form == 'rows':
        print('\t'.join([c[0] + ': blocks, peak, rooted', '; '.join(c[1:4]), 'file ' + c[4] + '; CPU ' + c[5], 'heaptrack', c[6]]))
    elif form == 'test':
        print('ok ' + c[0] if c[6].startswith('holds') else 'not ok %s: %s' % (c[0], c[6]))
    else:
        print('| ' + ' | '.join(c) + ' |')
    sys.stdout.flush()


def show_mean(form, rows):
    ratios = [r['ours'].bytes / r['peer_bytes'] for r in rows if r['theirs'] and r['ours']]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 0
    if ratios and form == 'rows':
        print("files, geometric mean\t%d programs\t%.2fx\theaptrack's\t0.70" % (len(ratios), mean))
    elif ratios and form == 'table':
        print("\nFiles, geometric mean of %d programs: %.2f of heaptrack's." % (len(ratios), mean))


def main():
    a = argparse.ArgumentParser()
    a.add_argument('--rows', dest='form', action='store_const', const='rows', default='table', help='rows of bench/run')
    a.add_argument('--test', dest='form', action='store_const', const='test', help='ok and not ok lines')
    a.add_argument('--repeat', type=int, default=1)
    a.add_argument('names', nargs='*')
    o = a.parse_args()
    rows = []
    if o.form == 'table':
        print('| program | blocks in one run: ours / heaptrack | peak, bytes | rooted, % | file '
              '| CPU, over the bare run | bars |\n' + '|---' * 7 + '|')
    for p in catalogue():
        if o.names and p['name'] not in o.names:
            continue
        if not is_there(p):
            print('skip %s: it or heaptrack is not installed' % p['name'], file=sys.stdout if o.form == 'test' else sys.stderr)
            continue
        rows.append(measure(p, o.repeat))
        show(o.form, cells(rows[-1]))
    show_mean(o.form, rows)
    return any(r['why'] for r in rows)


if __name__ == '__main__':
    sys.exit(main())
