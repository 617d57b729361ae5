#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# A Perfetto trace taken apart by the rules of protocol buffers and the field numbers
# of Perfetto's .proto files: no reader of it can be installed here. Prints JSON.
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from protobuf_wire import fields as wire_fields


def fields(data):
    """The values of a message by the number of their field."""
    out = {}
    for number, value in wire_fields(data):
        out.setdefault(number, []).append(value)
    return out


tracks, counters, notes, last, profiles = {}, {}, [], 0, []
for raw in fields(open(sys.argv[1], 'rb').read())[1]:
    packet = fields(raw)
    assert packet[10] == [1]  # trusted_packet_sequence_id
    if 60 in packet:  # track_descriptor
        t = fields(packet[60][0])
        tracks[t[1][0]] = t[2][0].decode()
    if 11 in packet:  # track_event
        e = fields(packet[11][0])
        time = packet[8][0]
        assert time >= last
        last = time
        if e[9][0] == 4:
            counters.setdefault(tracks[e[11][0]], []).append(e[30][0])
        else:
            notes.append(e[23][0].decode())
    if 37 in packet:  # profile_packet
        profiles.append(fields(packet[37][0]))
p, = profiles
strings = {s[1][0]: s[2][0].decode() for s in map(fields, p.get(1, []))}
frames = {f[1][0]: strings[f[2][0]] for f in map(fields, p.get(2, []))}
stacks = {c[1][0]: [frames[x] for x in c[2]] for c in map(fields, p.get(3, []))}
dump = fields(p[5][0])
samples = [fields(s) for s in dump.get(2, [])]
print(json.dumps({
    'tracks': sorted(tracks.values()), 'notes': notes,
    'peak': max(counters.get('live bytes', [0])), 'live': (counters.get('live bytes') or [0])[-1],
    'live_blocks': (counters.get('live blocks') or [0])[-1],
    'bytes': sum(s[2][0] for s in samples), 'blocks': sum(s[5][0] for s in samples),
    'heap_live': sum(s[2][0] - s[3][0] for s in samples),
    'stacks': sorted(';'.join(stacks[s[1][0]]) for s in samples),
}))
