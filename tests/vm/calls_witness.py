# SPDX-License-Identifier: BSD-2-Clause
# Compare what ran, as QEMU saw it, with the calls that the kernel counted, function by function:
# calls_witness.py VMLINUX FUNCTIONS SEEN CALLS. Prints ok and not ok lines.
import re
import struct
import subprocess
import sys

vmlinux, functions, seen, calls = sys.argv[1:5]


def patched(path):
    """The places that ftrace patches: only calls of these functions can be counted."""
    at = {name: int(value, 16) for value, name in re.findall(
        r'^([0-9a-f]+) \S (__(?:start|stop)_mcount_loc)$',
        subprocess.run(['nm', path], capture_output=True, text=True).stdout, re.M)}
    start, stop = at['__start_mcount_loc'], at['__stop_mcount_loc']
    sections = subprocess.run(['readelf', '-SW', path], capture_output=True, text=True).stdout
    for address, offset, size in re.findall(
            r'^ *\[ *\d+\] \S+ +\S+ +([0-9a-f]{16}) ([0-9a-f]+) ([0-9a-f]+) ', sections, re.M):
        if int(address, 16) <= start < int(address, 16) + int(size, 16):
            with open(path, 'rb') as f:
                f.seek(int(offset, 16) + start - int(address, 16))
                return {v[0] for v in struct.iter_unpack('<Q', f.read(stop - start))}
    raise SystemExit('no section contains __start_mcount_loc')


def check(name, bad):
    print(f'ok {name}' if not bad else f'not ok {name}: {bad}')


places = patched(vmlinux)
starts = {int(a, 16): name for a, name in (line.split() for line in open(functions))}
lines = open(seen).read().splitlines()
check('the witness wrote its file to the end', '' if lines[-1:] == ['end'] else lines[-1:])
ran = {int(a, 16): int(n) for a, n in (line.split() for line in lines if line != 'end')}
counted = {}
for line in open(calls):
    _, callee, n = line.split()
    counted[int(callee, 16)] = counted.get(int(callee, 16), 0) + int(n)

# behind the start, there may be an endbr64
countable = {a for a in starts if a in places or a + 4 in places}
both = {a: (ran.get(a, 0), counted.get(a, 0)) for a in countable if a in ran or a in counted}
named = lambda some: [(starts[a], *both[a]) for a in sorted(some)][:20]
equal = {a for a, (r, c) in both.items() if r == c}
# at least as many as the system calls and the program of this test need
check(f'{len(equal)} of {len(both)} functions ran as often as they were called', '' if len(equal) >= 800 else len(equal))
check('what ftrace does not patch is not counted', [starts.get(a, hex(a)) for a in set(counted) - countable][:20])
check('no function was called more often than it ran', named(a for a, (r, c) in both.items() if c > r))
# The task that switches counting on and off is not counted, but seen until it is back in its
# program: so are the functions that it needs for the switch, a few times each.
missed = {a for a, (r, c) in both.items() if r > c}
check('no function is missing', named(a for a in missed if both[a][1] == 0 and both[a][0] > 5))
check(f'{len(missed)} miss {sum(both[a][0] - both[a][1] for a in missed)} calls of the switch, of '
      f'{sum(r for r, _ in both.values())}', named(a for a in missed if both[a][0] - both[a][1] > 5))
# those that the program alone needs
alone = ('__x64_sys_msgsnd do_msgsnd load_msg do_msgrcv store_msg free_msg security_msg_queue_msgsnd '
         'ipc_obtain_object_check ss_wakeup vfs_statx do_sys_openat2 path_openat do_filp_open '
         'getname_flags vma_merge do_mmap mmap_region').split()
by_name = {starts[a]: v for a, v in both.items()}
check('those that the program alone needs', [(f, by_name.get(f)) for f in alone
                                             if f in by_name and by_name[f][0] != by_name[f][1]])
sent = {f: by_name.get(f) for f in ('do_msgsnd', 'load_msg', 'store_msg')}
check('20 messages were sent', '' if set(sent.values()) == {(20, 20)} else sent)
