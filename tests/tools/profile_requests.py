#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Another reader of what `push` sends: a server that keeps requests (`serve DIR [CERTIFICATE]`, prints
its port), and decoders of protocol buffers by the numbers of the published .proto files.

  profile_requests.py otlp|pprof FILE    prints {type: {stack: value}} as JSON
"""
import gzip
import http.server
import json
import os
import ssl
import sys

sys.dont_write_bytecode = True
from protobuf_wire import fields, varint


def serve(folder, certificate=None):
    class Keep(http.server.BaseHTTPRequestHandler):
        count = 0

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            Keep.count += 1
            name = os.path.join(folder, str(Keep.count))
            open(name + ".body", "wb").write(body)
            json.dump({"path": self.path, "headers": dict(self.headers)}, open(name + ".json", "w"))
            refused = self.path.startswith("/refuse")
            self.send_response(422 if refused else 200)
            self.end_headers()
            self.wfile.write(b"not like this" if refused else b"{}")

        def log_message(self, *args):
            pass

    s = http.server.HTTPServer(("127.0.0.1", 0), Keep)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        s.socket = context.wrap_socket(s.socket, server_side=True)
    print(s.server_address[1], flush=True)
    s.serve_forever()


def many(message, number):
    return [v for n, v in fields(message) if n == number]


def one(message, number, default=0):
    found = many(message, number)
    return found[-1] if found else default


def packed(data):
    at, out = 0, []
    while at < len(data):
        v, at = varint(data, at)
        out.append(v)
    return out


def otlp(data):
    """ExportProfilesServiceRequest of opentelemetry-proto 1.11.0."""
    (resources,) = many(data, 1)
    (dictionary,) = many(data, 2)
    tables = {n: many(dictionary, n) for n in range(1, 8)}
    for n, rows in tables.items():
        assert rows[0] == b"", "table %d does not begin with its zero" % n
    strings = [s.decode() for s in tables[5]]
    functions = [strings[one(f, 1)] for f in tables[3]]
    files = [strings[one(f, 3)] for f in tables[3]]
    locations = [[one(line, 1) for line in many(l, 3)] for l in tables[2]]
    stacks = [packed(one(s, 1, b"")) for s in tables[7]]
    resource = {one(a, 1).decode(): one(one(a, 2), 1).decode() for a in many(one(resources, 1), 1)}
    out = {"resource": resource, "files": sorted(set(files)), "types": {}, "ids": []}
    (scope,) = many(resources, 2)
    for profile in many(scope, 2):
        kind = strings[one(one(profile, 1), 1)]
        sums = out["types"].setdefault(kind, {})
        out["ids"].append(one(profile, 7).hex())
        out["time"] = one(profile, 3)
        for sample in many(profile, 2):
            frames = [functions[f] for l in stacks[one(sample, 1)] for f in locations[l]]
            (value,) = packed(one(sample, 4))
            key = ";".join(reversed(frames))
            sums[key] = sums.get(key, 0) + value
    return out


def pprof(data):
    """profile.proto."""
    data = gzip.decompress(data)
    strings = [s.decode() for s in many(data, 6)]
    functions = {one(f, 1): strings[one(f, 2)] for f in many(data, 5)}
    locations = {one(l, 1): [functions[one(x, 1)] for x in many(l, 4)] for l in many(data, 4)}
    kinds = [strings[one(t, 1)] for t in many(data, 1)]
    out = {"types": {k: {} for k in kinds}}
    for sample in many(data, 2):
        key = ";".join(reversed([f for l in packed(one(sample, 1)) for f in locations[l]]))
        for kind, value in zip(kinds, packed(one(sample, 2))):
            if value:
                out["types"][kind][key] = out["types"][kind].get(key, 0) + value
    return out


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(*sys.argv[2:])
    else:
        print(json.dumps({"otlp": otlp, "pprof": pprof}[sys.argv[1]](open(sys.argv[2], "rb").read())))
