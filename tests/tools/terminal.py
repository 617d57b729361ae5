# SPDX-License-Identifier: BSD-2-Clause
"""A small terminal (vt100) for tests of what draws on one: runs a command in a
pseudo-terminal and keeps the screen as a person sees it, line by line."""
import fcntl, os, pty, re, select, struct, subprocess, termios, time

TOKEN = re.compile(rb'\x1b\[([?\d;]*)([A-Za-z])|\x1b[()#][0-9A-Za-z]|\x1b[=>78]|[\x0e\x0f\x00\x07]|\r|\n|\x08|\x1b[DM]|[^\x1b\x00-\x1f]')

class Terminal:
    def __init__(self, command, rows=24, cols=80):
        self.rows, self.cols, self.y, self.x, self.rest = rows, cols, 0, 0, b''
        self.cells = [[' '] * cols for _ in range(rows)]
        self.top, self.bottom = 0, rows - 1  # what scrolls
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack('HHHH', rows, cols, 0, 0))
        env = {k: v for k, v in os.environ.items() if k not in ('LINES', 'COLUMNS')}
        self.p = subprocess.Popen(command, stdin=self.slave, stdout=self.slave, stderr=self.slave, env=dict(env, TERM='vt100'))

    def lines(self):
        return [''.join(row).rstrip() for row in self.cells]

    def type(self, keys):
        os.write(self.master, keys.encode())

    def until(self, wanted, seconds=600):
        """Look until wanted(lines) is true: its value, or None when time is over."""
        end = time.time() + seconds
        while time.time() < end:
            if select.select([self.master], [], [], 0.05)[0]:
                self.feed(os.read(self.master, 65536))
                continue  # a screen half drawn is no screen
            got = wanted(self.lines())
            if got is not None and got is not False:
                return got
            if self.p.poll() is not None:
                return None
        return None

    def end(self, seconds=600):
        """The exit status; None = it hangs."""
        finish = time.time() + seconds
        while self.p.poll() is None and time.time() < finish:
            if select.select([self.master], [], [], 0.05)[0]:
                self.feed(os.read(self.master, 65536))
        if self.p.poll() is None:
            self.p.kill()
            return None
        return self.p.returncode

    def feed(self, data):
        data, at = self.rest + data, 0
        while at < len(data):
            m = TOKEN.match(data, at)
            if not m:
                if len(data) - at < 16:  # the rest comes later
                    break
                raise ValueError('not of a vt100: %r' % data[at:at + 16])
            self.one(m.group(0), m.group(1), m.group(2))
            at = m.end()
        self.rest = data[at:]

    def one(self, token, args, letter):
        if letter:
            return self.control([int(a) if a.isdigit() else 0 for a in args.split(b';')], letter.decode())
        if token == b'\r':
            self.x = 0
        elif token in (b'\n', b'\x1bD'):
            self.down()
        elif token == b'\x1bM':
            self.up()
        elif token == b'\x08':
            self.x = max(min(self.x, self.cols - 1) - 1, 0)
        elif token[0] >= 0x20:
            if self.x >= self.cols:
                self.x = 0
                self.down()
            self.cells[self.y][self.x] = chr(token[0])
            self.x += 1

    def down(self):
        if self.y == self.bottom:
            del self.cells[self.top]
            self.cells.insert(self.bottom, [' '] * self.cols)
        else:
            self.y = min(self.y + 1, self.rows - 1)

    def up(self):
        if self.y == self.top:
            del self.cells[self.bottom]
            self.cells.insert(self.top, [' '] * self.cols)
        else:
            self.y = max(self.y - 1, 0)

    def control(self, n, letter):
        by = n[0] or 1
        if letter == 'H':
            self.y, self.x = (n[0] or 1) - 1, ((n[1] if len(n) > 1 else 1) or 1) - 1
        elif letter == 'A':
            self.y = max(self.y - by, 0)
        elif letter == 'B':
            self.y = min(self.y + by, self.rows - 1)
        elif letter == 'C':
            self.x = min(self.x + by, self.cols - 1)
        elif letter == 'D':
            self.x = max(self.x - by, 0)
        elif letter == 'K':
            a, b = {0: (self.x, self.cols), 1: (0, self.x + 1), 2: (0, self.cols)}[n[0]]
            self.cells[self.y][a:b] = [' '] * (min(b, self.cols) - min(a, self.cols))
        elif letter == 'J':
            if n[0] == 2:
                self.cells = [[' '] * self.cols for _ in range(self.rows)]
            elif n[0] == 0:
                self.control([0], 'K')
                for y in range(self.y + 1, self.rows):
                    self.cells[y] = [' '] * self.cols
            else:
                raise ValueError('J %r' % n)
        elif letter == 'r':
            self.top, self.bottom = (n[0] or 1) - 1, ((n[1] if len(n) > 1 else 0) or self.rows) - 1
            self.y = self.x = 0
        elif letter not in 'mhl':
            raise ValueError('not known: %r %s' % (n, letter))
