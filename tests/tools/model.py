#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A slow, obvious model of the annotators, written from the format alone.

usage: model.py TRACE FOLDER
       model.py --compare WANTED.json GOT.json

Reads a text trace and writes into FOLDER what the programs must print:
tags (trace2cmt -s), classic (trace2cmt --classic), life, rows (lifetimes-summary),
over, and life.json and over.json with the numbers of the summaries, which
--compare compares. What the originals never accepted is left out of classic and over.
"""
import bisect
import collections
import json
import re
import sys

PAGE = 4096
CALL = re.compile(r'(\w+)\((.*?)\)(?: = (\w+))?((?: \w+=\S+)*)$')
UNKNOWN = 'a block that was not allocated in this trace'


class Event:
    """One line: what ends (old), what begins (new), how many bytes."""

    def __init__(self, text):
        self.text = text
        verb, args, result, self.fields = CALL.match(text).groups()
        args = args.split(', ')
        self.verb, self.args = verb, args
        self.old = self.new = 0
        self.size = 0
        if verb in ('free', 'munmap'):
            self.old = int(args[0], 16)
            if verb == 'munmap':
                self.size = int(args[1])
            return
        self.new = int(result, 16)
        if verb in ('realloc', 'reallocarray'):
            self.old = int(args[0], 16)
            args = args[1:]
        self.size = int(args[-1])
        if verb in ('calloc', 'reallocarray'):
            self.size *= int(args[-2])
        self.failed = not self.new and self.size > 0

    failed = False


class Block:
    def __init__(self, addr, size, born, tag):
        self.addr, self.size, self.born, self.tag = addr, size, born, tag


class Lives:
    """Which block an address means: what each event ends and begins."""

    def __init__(self):
        self.live = {}
        self.tag = 0
        self.unknown = self.over = self.no_effect = 0

    def step(self, ev, now):
        """Returns (block that ended, block that stays, block that began, unknown)."""
        ended = began = None
        unknown = False
        if ev.failed:
            self.no_effect += 1
            return None, self.live.get(ev.old), None, False
        if ev.old:
            ended = self.live.pop(ev.old, None)
            unknown = ended is None
            self.unknown += unknown
        if ev.new:
            self.over += ev.new in self.live
            self.tag += 1
            began = self.live[ev.new] = Block(ev.new, ev.size, now, self.tag)
        if not ev.old and not ev.new:
            self.no_effect += 1
        return ended, None, began, unknown


def note(text, remark):
    return '%-49s # %s' % (text, remark) if remark else text


def tagged(ev, ended, stays, began):
    def ptr(addr, block):
        return '%x<%d>' % (addr, block.tag) if block else '%x' % addr

    args = list(ev.args)
    if ev.verb in ('free', 'munmap', 'realloc', 'reallocarray'):
        args[0] = ptr(ev.old, ended or stays)
    line = '%s(%s)' % (ev.verb, ', '.join(args))
    if ev.verb not in ('free', 'munmap'):
        line += ' = ' + ptr(ev.new, began)
    return line + ev.fields


def number(v):
    out = bytearray()
    while v > 127:
        out.append(v & 127)
        v >>= 7
    out.append(v | 128)
    return out


def classic(ev, ended, began, newest):
    """The record of a valid event; newest: the tag before it."""
    if began:
        return number(ev.size) + number(newest + 1 - ended.tag if ended else 0) + number(1)
    return number(0) + number(newest + 1 - ended.tag) if ended else b''


# ---- layout ---------------------------------------------------------------

class Layout:
    def __init__(self):
        self.starts = []  # sorted
        self.blocks = {}
        self.pages = collections.Counter()
        self.bytes = self.count = 0

    def describe(self, block):
        """Neighbours and pages of a block that is in the map."""
        i = bisect.bisect_left(self.starts, block.addr)
        prev = self.blocks[self.starts[i - 1]] if i else None
        following = self.blocks[self.starts[i + 1]] if i + 1 < len(self.starts) else None
        first, last = pages_of(block)
        pages = last - first + 1
        if prev and pages_of(prev)[1] == first:
            pages -= 1
        if following and pages > 0 and pages_of(following)[0] == last:
            pages -= 1
        left = (prev.addr, block.addr - prev.addr - prev.size) if prev else (0, -1)
        right = (following.addr, following.addr - block.addr - block.size) if following else (0, -1)
        return 'prev %x, gap %d, next %x, gap %d, pages [%%s], %d' % (*left, *right, pages), \
            first, last, left[1]

    def add(self, block):
        bisect.insort(self.starts, block.addr)
        self.blocks[block.addr] = block
        first, last = pages_of(block)
        for p in range(first, last + 1):
            self.pages[p] += 1
        self.bytes += block.size

    def remove(self, block):
        del self.starts[bisect.bisect_left(self.starts, block.addr)]
        del self.blocks[block.addr]
        first, last = pages_of(block)
        for p in range(first, last + 1):
            self.pages[p] -= 1
            if not self.pages[p]:
                del self.pages[p]
        self.bytes -= block.size


def pages_of(block):
    return block.addr // PAGE, (block.addr + block.size - 1) // PAGE


# ---- summaries ------------------------------------------------------------

PARTS = {'p1': .01, 'p10': .1, 'p25': .25, 'p50': .5, 'p75': .75, 'p90': .9, 'p99': .99, 'p999': .999}


def spread(values):
    values = sorted(values)
    out = {'count': len(values), 'sum': sum(values)}
    if values:
        out.update(min=values[0], max=values[-1])
        for name, part in PARTS.items():
            # so many of the values stand before it
            out[name] = values[min(int(len(values) * part), len(values) - 1)]
    doublings = collections.Counter(0 if v < 2 else 1 << v.bit_length() - 1 for v in values)
    out['doublings'] = [{'from': v, 'count': n} for v, n in sorted(doublings.items())]
    return out


def near(name, want, got):
    """The programs keep parts of histograms within 0.8 percent, all else exactly."""
    if name in PARTS:
        return abs(want - got) <= want * .008
    if isinstance(want, float):
        return abs(want - got) < 1e-5
    return want == got


def compare(want, got, where=''):
    """How many differences; each is shown."""
    bad = 0
    for name, value in want.items():
        if name == 'series':
            continue
        if isinstance(value, dict):
            bad += compare(value, got.get(name, {}), where + name + '.')
        elif name not in got or not near(name, value, got[name]):
            print('# %s%s: %r, wanted %r' % (where, name, got.get(name), value))
            bad += 1
    for point in got.get('over_time', []):
        line = point['line']
        now = [point['live_bytes'], point['pages']]
        if want['series'][line - 1] != now:
            print('# line %d: %r, wanted %r' % (line, now, want['series'][line - 1]))
            bad += 1
        elif now[1] and abs(point['fragmentation'] - (1 - now[0] / now[1] / PAGE)) > 1e-5:
            print('# line %d: fragmentation' % line)
            bad += 1
    return bad


def run_compare(want, got):
    with open(want) as f, open(got) as g:
        want, got = json.load(f), json.load(g)
    if 'series' in want and not got['over_time']:
        print('# nothing over time')
        return 1
    return 1 if compare(want, got) else 0


def main():
    trace, folder = sys.argv[1:]
    lives, layout = Lives(), Layout()
    out = {k: [] for k in ('tags', 'life', 'over')}
    packed = bytearray()
    rows = collections.Counter()
    kinds = collections.Counter()
    ages, sizes, gaps, series = [], [], [], []
    live_bytes = peak = peak_blocks = peak_at = peak_pages = peak_pages_at = at_peak_pages = 0
    valid = True
    with open(trace) as f:
        lines = f.read().splitlines()
    for now, text in enumerate(lines, 1):
        ev = Event(text)
        kinds['free' if ev.verb in ('free', 'munmap') else
              'realloc' if ev.verb.startswith('realloc') else 'alloc'] += 1
        newest = lives.tag
        replaced = lives.live.get(ev.new) if ev.new != ev.old else None
        ended, stays, began, unknown = lives.step(ev, now)
        valid = valid and not unknown and not replaced and not (began and not ev.size)
        out['tags'].append(tagged(ev, ended, stays, began))
        if valid:
            packed += classic(ev, ended, began, newest)

        remark = over = ''
        if ended:
            remark = '%d bytes, allocated %d lines ago' % (ended.size, now - ended.born)
            rows[now - ended.born, ended.size] += 1
            ages.append(now - ended.born)
            live_bytes -= ended.size
            if valid:
                spot, first, last, _ = layout.describe(ended)
                over = '%s, %s fewer pages' % (remark, spot % ('%d-%d' % (first, last)))
                layout.remove(ended)
        elif stays:
            remark = 'failed, the block of %d bytes stays' % stays.size
        elif unknown:
            remark = UNKNOWN
        if began:
            sizes.append(began.size)
            live_bytes += began.size - (replaced.size if replaced else 0)
            if live_bytes > peak:
                peak, peak_blocks, peak_at = live_bytes, len(lives.live), now
            if valid:
                layout.add(began)
                spot, first, last, gap = layout.describe(began)
                if gap >= 0:
                    gaps.append(gap)
                if not ended:
                    over = '%s more pages ' % (spot % ('%d, %d' % (first, last)))
                if len(layout.pages) > peak_pages:
                    peak_pages, peak_pages_at = len(layout.pages), now
                    at_peak_pages = layout.bytes
        series.append([layout.bytes, len(layout.pages)])
        out['life'].append(note(text, remark))
        out['over'].append(note(text, over))

    for name, text in out.items():
        if name != 'over' or valid:
            with open('%s/%s' % (folder, name), 'w') as f:
                f.writelines(line + '\n' for line in text)
    with open(folder + '/rows', 'w') as f:
        for (age, size), n in sorted(rows.items()):
            f.write('%7d %d %d\n' % (n, age, size))
    if valid:
        with open(folder + '/classic', 'wb') as f:
            f.write(packed)
        with open(folder + '/over.json', 'w') as f:
            json.dump({'events': len(lines), 'peak_bytes': peak, 'peak_bytes_line': peak_at,
                       'peak_pages': peak_pages, 'peak_pages_line': peak_pages_at,
                       'fragmentation_at_peak_pages':
                           1 - at_peak_pages / (peak_pages * PAGE) if peak_pages else 0,
                       'end_bytes': layout.bytes, 'end_blocks': len(layout.blocks),
                       'end_pages': len(layout.pages), 'unknown_frees': 0, 'over_live': 0,
                       'overlaps': 0, 'lost': {'total': 0}, 'no_effect': lives.no_effect,
                       'gaps': spread(gaps), 'series': series}, f)
    with open(folder + '/life.json', 'w') as f:
        json.dump({'events': len(lines), 'allocations': kinds['alloc'], 'reallocs': kinds['realloc'],
                   'frees': kinds['free'], 'blocks': lives.tag, 'bytes': sum(sizes),
                   'peak_bytes': peak, 'peak_blocks': peak_blocks, 'peak_line': peak_at,
                   'never_freed_blocks': len(lives.live), 'never_freed_bytes': live_bytes,
                   'no_effect': lives.no_effect, 'unknown_frees': lives.unknown,
                   'over_live': lives.over, 'lost': {'total': 0},
                   'lifetimes': spread(ages), 'sizes': spread(sizes)}, f)


if sys.argv[1] == '--compare':
    sys.exit(run_compare(*sys.argv[2:]))
main()
