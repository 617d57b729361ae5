#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A second reader of containers, slow and plain, made from docs/format.md alone.
Prints the events as text: second_reader.py FILE"""
import subprocess
import sys

M64 = (1 << 64) - 1
GOLD = 0x9E3779B97F4A7C15
KINDS = ['', 'alloc', 'free', 'realloc', 'access', 'lost', 'mark']
CALLS = ('none malloc calloc realloc reallocarray aligned_alloc memalign posix_memalign valloc pvalloc '
         'free mmap munmap mremap brk kmalloc kfree kmem_cache_alloc kmem_cache_free page_alloc page_free '
         'vmalloc vfree percpu_alloc percpu_free access lost mark').split()
CAUSES = 'unknown ring_full reentry damage no_memory filter'.split()
ADDR, TIME, CPU, NODE, PID, TID, GIVEN, FLAGS, SITE, CACHE = (1 << i for i in range(10))
BIRTH, BLOCK, END, OWN, GROWS, JUMP, STRAY_ADDR, STRAY_NEW, STRAY_OBJECT, STRAY_BORN = (1 << i for i in range(10))
NAMES = ('FORM KIND CALL HAS SIZE GIVEN ARG SITE CACHE FLAGS UNIT BLOCK WHO_CPU WHO_NODE WHO_PID WHO_TID '
         'GUEST_OBJECT GUEST_ADDR TOKEN WHO TIME STEP OWN_SIZE OWN_GIVEN OWN_ARG PLACE ADDR STRAY_ADDR '
         'STRAY_OBJECT JUMP AGAIN').split()
CALLERS = {}  # of the nodes of the stack tree
WORDS = ('TOKEN', 'WHO', 'PLACE')


def crc32c(data):
    c = 0xFFFFFFFF
    for x in data:
        c ^= x
        for _ in range(8):
            c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
    return c ^ 0xFFFFFFFF


def unzigzag(z):
    return z >> 1 if not z & 1 else -(z >> 1) - 1


class Damaged(Exception):
    pass


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        if n > len(self.data) - self.at:
            raise Damaged('it ends too early')
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self):
        v = shift = 0
        while True:
            b = self.take(1)[0]
            v |= (b & 0x7F) << shift
            if not b & 0x80:
                break
            shift += 7
        if v > M64:
            raise Damaged('a number of over 64 bits')
        return v

    def packed(self):
        n = self.number()
        if not n:
            return b''
        p = self.number()
        if not p:
            return self.take(n)
        frame = b'\x28\xb5\x2f\xfd' + self.take(p)
        out = subprocess.run(['zstd', '-dcq'], input=frame, stdout=subprocess.PIPE, check=True).stdout
        if len(out) != n:
            raise Damaged('a wrong length')
        return out

    def end(self):
        if self.at != len(self.data):
            raise Damaged('something is left over')


# ---- context mixing

def logistic():
    """The table is in the document."""
    import os
    doc = open(os.path.join(os.path.dirname(__file__), '../../docs/format.md')).read()
    text = doc.split('where L[0..48] = ')[1].split('. **')[0]
    return [int(x) for x in text.split(',')]


class Mixer:
    def __init__(self):
        self.L = logistic()
        self.stretch, x = [], -2047
        for p in range(4096):
            while x < 2047 and self.squash(x) < 16 * p + 8:
                x += 1
            self.stretch.append(x)
        self.R = [65536 // (2 * n + 3) for n in range(31)]

    def squash(self, x):
        x = max(-3071, min(3071, x))
        i, f = x + 3072 >> 7, (x + 3072) % 128
        return self.L[i] * (128 - f) + self.L[i + 1] * f + 64 >> 7

    def start(self, data, n):
        self.data, self.pos, self.past = data, 0, 0
        self.low, self.high, self.code = 0, 0xFFFFFFFF, 0
        for _ in range(4):
            self.code = self.code << 8 | self.byte()
        self.b = 6
        while self.b < 15 and 1 << self.b < 2 * n:
            self.b += 1
        self.tables = [{} for _ in range(6)]
        self.weights, self.M, self.s = {}, {}, 0

    def byte(self):
        if self.pos < len(self.data):
            self.pos += 1
            return self.data[self.pos - 1]
        self.past += 1
        return 0

    def bit(self, p):
        mid = self.low + ((self.high - self.low) * p >> 16)
        one = self.code <= mid
        if one:
            self.high = mid
        else:
            self.low = mid + 1
        while self.low >> 24 == self.high >> 24:
            self.low = self.low << 8 & 0xFFFFFFFF
            self.high = (self.high << 8 | 0xFF) & 0xFFFFFFFF
            self.code = (self.code << 8 | self.byte()) & 0xFFFFFFFF
        return int(one)

    def choose(self, stage):
        self.buckets = []
        for i in range(6):
            h = (self.H[i] ^ stage * 0xD6E8FEB86659FD93 & M64) * GOLD & M64
            at, check = h >> 64 - self.b, h & 0xFFFFFFFF | 1
            bucket = self.tables[i].get(at)
            if not bucket or bucket[0] != check:
                bucket = self.tables[i][at] = [check] + [[1 << 21, 0] for _ in range(7)]
            self.buckets.append(bucket)

    def update(self, c, bit):
        if bit:
            c[0] += (4194303 - c[0] >> 6) * self.R[c[1]] >> 9
        else:
            c[0] -= (c[0] >> 6) * self.R[c[1]] >> 9
        c[1] = min(c[1] + 1, 30)

    def modelled(self, node, cls, foretold):
        told = foretold is not None and self.follows
        counters = [b[1 + node] for b in self.buckets]
        inputs = []
        for P, N in counters:
            p = P >> 10
            inputs += [8 * self.stretch[p] if N else 0, (p - 2048) * N >> 4]
        M = self.M.setdefault(self.s, [1 << 21, 0])
        inputs.append((8 if foretold else -8) * self.stretch[M[0] >> 10] if told else 0)
        w = self.weights.setdefault((self.s if told else 0, cls), [1638] * 12 + [2458])
        total = sum(a * b for a, b in zip(w, inputs)) & 0xFFFFFFFF
        p = self.squash((total - (1 << 32) if total >> 31 else total) >> 16)
        bit = self.bit(p)
        err = int((65536 * bit - p) / 2)
        for i, x in enumerate(inputs):
            w[i] = max(-32768, min(32767, w[i] + ((x * err >> 16) + 4 >> 3)))
        for c in counters:
            self.update(c, bit)
        if told:
            self.update(M, foretold == bit)
            self.follows = foretold == bit
        return bit

    def number(self, guess, bits):
        self.follows = guess is not None
        g = guess + 1 if self.follows else 0
        told = self.follows
        m = 0
        while m < 64:
            if m % 7 == 0:
                self.choose(m // 7)
            if not self.modelled(m % 7, min(m, 15), int(g.bit_length() - 1 > m) if told else None):
                break
            m += 1
        q = 1
        for k in range(m):
            if k < bits:
                if k % 3 == 0:
                    self.choose((q << 8 & M64 | m) + 16)
                foretold = (g >> m - 1 - k & 1) if told else None
                b = self.modelled((1 << k % 3) - 1 + q % (1 << k % 3), 16 + k, foretold)
            else:
                b = self.bit(32768)
            q = 2 * q + b
        return q - 1 & M64

    def finish(self):
        if self.past != 3 or self.pos != len(self.data):
            raise Damaged('mixed numbers that do not end where they should')


def mix(h, v):
    y = (h + v + 1) * GOLD & M64
    return y ^ y >> 29


def words(mx, data, n, contexts):
    mx.start(data, n)
    v, at, length, slots = [], 0, 0, {}
    for i in range(n):
        if i:
            if length and v[at] == v[i - 1]:
                at, length = at + 1, min(length + 1, 400)
            else:
                length = 0
            if i >= 3:
                h = mix(mix(mix(0, v[i - 1]), v[i - 2]), v[i - 3])
                a = slots.get(h >> 48, 0)
                slots[h >> 48] = i
                if not length and a:
                    while length < 400 and length < a and v[a - 1 - length] == v[i - 1 - length]:
                        length += 1
                    at = a
                    if length < 3:
                        length = 0
        mx.s = length if length < 16 else 16 + sum(length >= x for x in (24, 32, 64, 128, 256, 400))
        h, k, mx.H = contexts[i] + 1 if contexts else 0, 0, []
        for j, order in enumerate((0, 1, 2, 3, 4, 6)):
            while k < order:
                h = mix(h, v[i - 1 - k] if k < i else 0)
                k += 1
            mx.H.append(mix(h, j))
        if length >= 4:
            mx.choose(mix(8, v[at]))
            mx.follows = True
            if mx.modelled(0, 28, 1):
                v.append(v[at])
                continue
            length = 0
        v.append(mx.number(v[at] if length else None, 12))
    mx.finish()
    return v


def quantities(mx, data, n, contexts):
    mx.start(data, n)
    mag = lambda x: (x + 1).bit_length() - 1
    v, lasts = [], {}
    for i in range(n):
        c = contexts[i] if contexts else 0
        one = v[i - 1] if i else 0
        two = v[i - 2] if i > 1 else 0
        last = lasts.get(c, 0) if contexts else v[i - 3] if i > 2 else 0
        z = mag(one) << 8 | mag(two)
        mx.H = [mix(0, 0), mix(1, c), mix(mix(2, z), mag(last)), mix(mix(3, c), one),
                mix(mix(4, one), two), mix(mix(5, c), last)]
        v.append(mx.number(None, 6))
        lasts[c] = v[-1]
    mx.finish()
    return v


MIXER = None


def column(b, name=None, contexts=None):
    global MIXER
    n = b.number()
    if not n:
        return []
    codec = b.number()
    if codec == 1:
        return [b.number()] * n
    if codec == 2:
        heads, tails = b.packed(), Bytes(b.packed())
        v = [h & 0x7F | (tails.number() << 7 if h & 0x80 else 0) for h in heads]
        tails.end()
    elif codec == 3:
        classes, bits = b.packed(), int.from_bytes(b.packed(), 'little')
        v, used = [], 0
        for c in classes:
            if c < 16:
                v.append(c)
                continue
            k = (c - 16) // 4 + 2
            v.append((4 + c % 4 << k) + (bits >> used & (1 << k) - 1))
            used += k
    elif codec == 4:
        t = b.number()
        firsts, seconds = b.packed(), iter(b.packed())
        v = [f if f < t else t + (f - t) * 256 + next(seconds) for f in firsts]
    elif codec == 5:
        MIXER = MIXER or Mixer()
        data = b.take(b.number())
        v = (words if name in WORDS else quantities)(MIXER, data, n, contexts() if contexts else None)
    elif codec == 6:
        planes = [b.packed() for _ in range(b.number())]
        v = [sum(x << 8 * k for k, x in enumerate(bytes_of)) for bytes_of in zip(*planes)]
    elif codec == 7:
        shift, gaps, values, v = b.number(), column(b), column(b), []
        for gap, value in zip(gaps, values):
            v += [0] * gap + [value << shift]
        v += [0] * (n - len(v))
    else:
        raise Damaged('an unknown codec')
    if len(v) != n:
        raise Damaged('a column of the wrong length')
    return v


# ---- chunks

def read_info(b):
    flags = b.number()
    i = {'raw': flags & 1, 'deltas': flags & 2, 'stream': b.number(), 'sequence': b.number(), 'events': b.number(),
         'fields': b.number(), 'births': b.number(), 'guest': b.number(), 'object': 0, 'time': 0}
    if not i['raw'] and i['births']:
        i['object'] = b.number()
        b.number()
    if i['fields'] & TIME:
        i['time'] = b.number()
        b.number()
    b.take(8 if i['fields'] & CPU else 0)
    b.take(8 if i['fields'] & TID else 0)
    i['lost'] = b.number()
    i['causes'] = {b.number(): b.number() for _ in range(b.number())}
    return i


class Places:
    def __init__(self, allocator):
        self.shift, self.rounding = divmod(allocator, 4)
        self.last = self.behind = self.top = 0
        self.row, self.free, self.table, self.told = {}, [], {}, []

    def room(self, size):
        up = lambda x, m: (x + m - 1) // m * m
        if self.rounding == 0:
            return max(32, (size + 23 & M64) & ~15)
        if self.rounding == 1:
            return max(8, up(size, 8)) & M64
        if self.rounding == 2:
            return max(16, up(size, 16)) & M64
        if size <= 8:
            return 8
        if size <= 128:
            return up(size, 16)
        return up(size, 1 << (size - 1).bit_length() - 3) & M64

    def given(self, size):
        return self.room(size) - (0 if self.rounding else 8)

    def cls(self, room):
        return (room >> 3 & 0xFFFFFFFF) % 4096

    def at(self, addr):
        p = self.table.get(addr * GOLD >> 48 & 0xFFFF)
        return p if p and p[0] == addr and p[2] else None

    def take(self, p):
        if p:
            p[2] = False
            self.free.remove(p)

    def gone(self, size, addr):
        if not addr:
            return
        self.take(self.at(addr))
        p = [addr, self.cls(self.room(size)) if size else 0, True, len(self.free)]
        p[3] = id(p)
        self.free.append(p)
        self.table[addr * GOLD >> 48 & 0xFFFF] = p

    def nth(self, cls, n):
        for p in reversed(self.free):
            if cls is None or p[1] == cls:
                if not n:
                    return p
                n -= 1
        raise Damaged('no such place')

    def find(self, how, size, old, delta, again):
        room = self.room(size)
        c = self.cls(room)
        p = None
        if how == 0:
            addr = self.last + (unzigzag(delta()) << self.shift) & M64
            self.told.append(addr)
        elif how == 69:
            addr = self.told[again()]
        elif how == 1:
            addr = old
        elif how in (3, 4, 5):
            addr = (self.behind, self.top, self.row.get(c, 0))[how - 3]
        else:
            p = self.nth(c, 0) if how == 2 else self.nth(c, how - 5) if how < 37 else self.nth(None, how - 37)
            addr = p[0]
        self.take(p or (self.at(addr) if addr else None))
        self.last = addr
        self.behind = self.row[c] = addr + room & M64
        self.top = max(self.top, self.behind)
        return addr


def chunk(payload):
    b = Bytes(payload)
    info = read_info(b)
    often, once, guests, whos = (b.number() for _ in range(4))
    places = Places(b.number() if info['fields'] & ADDR else 0)
    cols = {n: [] for n in NAMES}
    get = lambda name, i: cols[name][i] if cols[name] else 0
    n_patterns = often + once

    def pattern_context():
        return [(get('FORM', i) << 3 | get('KIND', i)) & 0xFFFF for i in range(n_patterns)]

    def tokens():
        following = often
        for i in range(info['events']):
            t = get('TOKEN', i)
            yield t, t if t < often else following
            following += t >= often

    def event_context(name):
        out, place = [], 0
        for t, p in tokens():
            form, has = get('FORM', p), get('HAS', p)
            born = form & BIRTH and has & ADDR
            wanted = {'WHO': has & (CPU | NODE | PID | TID), 'TIME': has & TIME,
                      'STEP': form & BLOCK and not get('BLOCK', p), 'OWN_SIZE': form & OWN,
                      'OWN_ARG': form & OWN, 'OWN_GIVEN': form & OWN and has & GIVEN, 'PLACE': born,
                      'ADDR': born and not get('PLACE', place)}[name]
            place += bool(born)
            if wanted:
                out.append(t & 0xFFFF)
        return out

    for _ in range(b.number()):
        i = b.number()
        context = None
        if 2 <= i <= 11:
            context = pattern_context
        elif 19 <= i <= 26:
            context = lambda: event_context(NAMES[i])
        cols[NAMES[i]] = column(b, NAMES[i], context)
    b.end()

    if info['deltas']:
        site = 0
        sites, givens = [get('SITE', i) for i in range(n_patterns)], [get('GIVEN', i) for i in range(n_patterns)]
        for i in range(n_patterns):
            if get('HAS', i) & SITE:
                sites[i] = site = site + unzigzag(sites[i])
            if get('HAS', i) & GIVEN and not get('FORM', i) & OWN and get('KIND', i) in (1, 3):
                givens[i] = places.given(get('SIZE', i)) + unzigzag(givens[i]) & M64
        cols['SITE'], cols['GIVEN'] = sites, givens

    used = dict.fromkeys(NAMES, 0)

    def take(name):
        used[name] += 1
        return get(name, used[name] - 1)

    blocks, obj, addr = [], 0, 0        # [object, address, size, live]
    for i in range(guests):
        obj += get('GUEST_OBJECT', i)
        addr = addr + unzigzag(get('GUEST_ADDR', i)) & M64
        blocks.append([obj, addr, 0, True])
    cursor, following, time, size_before = -1, often, info['time'], 0
    next_object = stray_object = info['object']
    stray_addr = 0

    def live_up(p):
        return (q for q in range(p, len(blocks)) if blocks[q][3])

    def live_down(p):
        return (q for q in range(p, -1, -1) if blocks[q][3])

    def nth(it, n):
        for q in it:
            if not n:
                return q
            n -= 1
        raise Damaged('a block that is not live')

    for _ in range(info['events']):
        t = take('TOKEN')
        p = t
        if t >= often:
            p, following = following, following + 1
        f = {k: get(k, p) for k in NAMES[:12]}
        ev = {'kind': f['KIND'], 'call': f['CALL'], 'has': f['HAS'], 'size': f['SIZE'], 'given': f['GIVEN'],
              'arg': f['ARG'], 'site': f['SITE'], 'cache': f['CACHE'], 'flags': f['FLAGS'], 'unit': f['UNIT'],
              'object': 0, 'addr': 0, 'old_object': 0, 'old_addr': 0, 'time': 0}
        form, has = f['FORM'], f['HAS']
        if has & (CPU | NODE | PID | TID):
            w = take('WHO')
            if w >= whos:
                raise Damaged('no such who')
            ev['cpu'], ev['node'] = unzigzag(get('WHO_CPU', w)), unzigzag(get('WHO_NODE', w))
            ev['pid'], ev['tid'] = get('WHO_PID', w), get('WHO_TID', w)
        if has & TIME:
            time = time + unzigzag(take('TIME')) & M64
            ev['time'] = time
        if form & OWN:
            ev['size'] = take('OWN_SIZE')
            if has & GIVEN:
                near = places.given(ev['size']) if info['deltas'] and ev['kind'] in (1, 3) else ev['size']
                ev['given'] = near + unzigzag(take('OWN_GIVEN')) & M64
            ev['arg'] = take('OWN_ARG')
        o, a = ('old_object', 'old_addr') if f['KIND'] == 3 else ('object', 'addr')
        old = 0
        if form & BLOCK:
            code = f['BLOCK']
            if code & 1:
                q = nth(live_down(len(blocks) - 1), code >> 1)
            else:
                step = unzigzag((code - 2) // 2 if code else take('STEP'))
                if step > 0:
                    q = nth(live_up(cursor + 1), step - 1)
                elif step < 0:
                    q = nth(live_down(cursor - 1), -step - 1)
                else:
                    q = nth((x for x in [cursor] if x >= 0 and blocks[x][3]), 0)
            cursor = q
            ev[o] = blocks[q][0]
            if has & ADDR:
                ev[a] = old = blocks[q][1]
            if form & END:
                blocks[q][3] = False
                if has & ADDR:
                    places.gone(blocks[q][2], blocks[q][1])
        if form & STRAY_OBJECT:
            ev[o] = stray_object = stray_object + unzigzag(take('STRAY_OBJECT')) & M64
        if form & STRAY_ADDR:
            ev[a] = stray_addr = stray_addr + unzigzag(take('STRAY_ADDR')) & M64
        if form & BIRTH:
            if form & GROWS:
                ev['size'] = size_before + unzigzag(f['SIZE']) & M64
            size_before = ev['size']
            if form & JUMP:
                next_object = next_object + unzigzag(take('JUMP')) & M64
            if not info['raw']:
                ev['object'] = next_object
                next_object += 1
            if has & ADDR:
                ev['addr'] = places.find(take('PLACE'), ev['size'], old, lambda: take('ADDR'), lambda: take('AGAIN'))
            blocks.append([ev['object'], ev['addr'], ev['size'], True])
        else:
            if form & STRAY_NEW:
                ev['addr'] = stray_addr = stray_addr + unzigzag(take('STRAY_ADDR')) & M64
            if form & STRAY_BORN:
                ev['object'] = stray_object = stray_object + unzigzag(take('STRAY_OBJECT')) & M64
        yield ev
    for name in NAMES[18:]:
        if cols[name] and used[name] != len(cols[name]):
            raise Damaged('column %s is not used up' % name)


# ---- text

def escape(s):
    return ''.join(chr(c) if 0x20 < c < 0x7F and chr(c) not in '%)#' else '%%%02x' % c for c in s)


def line(ev, strings, stacks):
    call, has = CALLS[ev['call']], ev['has']
    known = has & ADDR
    ptr = lambda a, o: ('%x' % a if known else '?<%d>' % o if o else '?')
    new = ptr(ev['addr'], ev['object'])
    old = ptr(ev['old_addr'], ev['old_object'])
    one = ev['size']
    if call in ('calloc', 'reallocarray'):
        one = ev['unit'] if not ev['arg'] else one if ev['unit'] == 0xFFFFFFFF else one // ev['arg']
    if call == 'lost':
        out = 'lost(%d)' % ev['size']
    elif call == 'mark':
        out = 'mark(%s)' % escape(strings[ev['arg'] - 1])
    elif call == 'access':
        out = 'access(%s, %d, %d)' % (new, ev['size'], ev['arg'])
    elif ev['kind'] == 2:
        out = '%s(%s%s)' % (call, new, ', %d' % ev['size'] if call == 'munmap' else '')
    else:
        args = [old] if ev['kind'] == 3 else []
        if call in ('calloc', 'reallocarray', 'aligned_alloc', 'memalign', 'posix_memalign'):
            args.append('%d' % ev['arg'])
        out = '%s(%s) = %s' % (call, ', '.join(args + ['%d' % one]), new)
    if call == 'lost':
        out += ' cause=%s' % CAUSES[ev['arg']]
    for bit, name in ((TIME, 'time'), (PID, 'pid'), (TID, 'tid'), (CPU, 'cpu'), (NODE, 'node'), (GIVEN, 'given')):
        if has & bit:
            out += ' %s=%d' % (name, ev[name])
    if has & FLAGS:
        out += ' flags=%x' % ev['flags']
    if has & CACHE:
        out += ' cache=%s' % escape(strings[ev['cache'] - 1])
    if has & SITE and ev['site']:
        out += ' stack=%s' % ','.join('%x' % ip for ip in stacks[ev['site'] - 1])
    return out


def read_stacks(payload, stacks):
    b = Bytes(payload)
    b.number()
    b.number()
    own, common, ips = column(b), column(b), iter(column(b))
    common = common or [0] * len(own)
    b.end()
    for o, c in zip(own, common):
        tail = stacks[-1][len(stacks[-1]) - c:] if c else []
        ip = tail[0] if tail else 0
        stack = []
        for _ in range(o):
            ip = ip + unzigzag(next(ips)) & M64
            stack.insert(0, ip)
        stacks.append(stack + tail)


def read_tree(payload, nodes, stacks):
    b = Bytes(payload)
    if b.number() != len(nodes) or b.number() != len(stacks) + 1:
        raise Damaged('nodes or stacks are missing')
    node = len(nodes) - 1
    parents, ips, ends = column(b), column(b), column(b)
    b.end()
    for back, delta in zip(parents, ips):
        CALLERS[len(nodes)] = len(nodes) - 1 - back
        caller = nodes[len(nodes) - 1 - back]
        nodes.append([(caller[0] if caller else 0) + unzigzag(delta) & M64] + caller)
    for delta in ends:
        node += unzigzag(delta)
        stacks.append(nodes[node])


def read_chains(payload, nodes, stacks):
    b = Bytes(payload)
    first = b.number()
    if first != len(nodes) or b.number() != len(stacks) + 1:
        raise Damaged('nodes or stacks are missing')
    ups, lengths, fars, callees, news, knowns, ends = [column(b) for _ in range(7)]
    b.end()
    fars, callees, news, knowns = iter(fars), iter(callees), iter(news), iter(knowns)
    addresses, lists, older, number, last, new = [], [], {}, {}, {}, 0

    def entry(ip):
        addresses.append(ip)
        lists.append([])
        return len(lists) - 1

    for up, length in zip(ups, lengths):
        start = len(nodes)
        caller = start - 1 - (0 if up else next(fars))
        for _ in range(up):
            caller = CALLERS[caller]
        for node in range(start, start + length + 1):
            if caller < first and caller not in older:
                older[caller] = entry(0)
            mine = lists[older[caller] if caller < first else number[caller]]
            code = next(callees)
            if code == 0:
                new = new + unzigzag(next(news)) & M64
                mine.append(entry(new))
            elif code == 1:
                mine.append(next(knowns))
            number[node] = mine[code - 2 if code > 1 else -1]
            nodes.append([addresses[number[node]]] + nodes[caller])
            CALLERS[node], last[node] = caller, start + length
            caller = node
    if [x for it in (fars, callees, news, knowns) for x in it]:
        raise Damaged('a tree with numbers left over')
    high = first - 1
    for end in ends:
        node = high + unzigzag(end - 1) if end else last[high + 1]
        stacks.append(nodes[node])
        high = max(high, node)


def blocks_of(data):
    if data[:8] != b'\x80MZT\r\n\x1a\n' or crc32c(data[:32]) != int.from_bytes(data[32:36], 'little'):
        raise Damaged('not a container')
    at = 36
    while data[at:at + 4] == b'MZb\x1a':
        n = int.from_bytes(data[at + 8:at + 12], 'little')
        payload = data[at + 20:at + 20 + n]
        if crc32c(data[at:at + 16]) != int.from_bytes(data[at + 16:at + 20], 'little') or \
                crc32c(payload) != int.from_bytes(data[at + 12:at + 16], 'little'):
            raise Damaged('a wrong checksum at byte %d' % at)
        yield at, data[at + 4], payload
        at += 20 + n
    if len(data) - at != 16 or data[-4:] != b'MZe\x1a':
        raise Damaged('no trailer')


def main(path):
    strings, nodes, stacks, seen, offset = [], [[]], [], [], None
    for at, kind, payload in blocks_of(open(path, 'rb').read()):
        if kind == 1:
            seen.append(read_info(Bytes(payload)))
            for ev in chunk(payload):
                print(line(ev, strings, stacks))
        elif kind == 2:
            b = Bytes(Bytes(payload).packed())
            b.number()
            strings += [b.take(b.number()) for _ in range(b.number())]
        elif kind == 3:
            read_stacks(payload, stacks)
        elif kind == 6:
            read_tree(payload, nodes, stacks)
        elif kind == 7:
            read_chains(payload, nodes, stacks)
        elif kind == 5:
            b = Bytes(Bytes(payload).packed())
            counted, produced = b.number(), b.number()
            here, infos = 36, []
            for _ in range(b.number()):
                t, here, n = b.number(), here + b.number(), b.number()
                if t == 1:
                    infos.append(read_info(b))
                here += 20 + n
            b.end()
            if infos != seen or here != at:
                raise Damaged('the index does not agree with the chunks')
            total = sum(i['events'] - i['lost'] + sum(i['causes'].values()) for i in infos)
            if counted and produced != total:
                raise Damaged('produced %d, but written and lost %d' % (produced, total))


if __name__ == '__main__':
    try:
        main(sys.argv[1])
    except Damaged as e:
        sys.exit('second_reader: %s: %s' % (sys.argv[1], e))
