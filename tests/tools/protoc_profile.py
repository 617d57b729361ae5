#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Profiles as protoc decodes them, by the .proto files beside this one.

  protoc_profile.py otlp|pprof FILE    prints {type: {stack: value}} as JSON

A field that the .proto file does not have, or has with another type, is an error: protoc prints
its number in place of a name.
"""
import codecs
import collections
import gzip
import json
import os
import re
import subprocess
import sys

LINE = re.compile(r'\s*(?:(\w+) \{|(\w+): (?:"(.*)"|(\S+))|(\}))$')


def plain(text):
    return codecs.escape_decode(text.encode())[0]


def tree(lines):
    """A message: {field: [values]}; ends at its closing brace, or with the text."""
    message = collections.defaultdict(list)
    for line in lines:
        m = LINE.match(line)
        assert m, "no line of protoc: %r" % line
        inner, name, quoted, word, end = m.groups()
        if end:
            break
        assert not (inner or name).isdigit(), "no such field: %r" % line
        if inner:
            message[inner].append(tree(lines))
        else:
            message[name].append(word if quoted is None else plain(quoted))
    return message


def decode(kind, message, data):
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "proto")
    out = subprocess.run(["protoc", "--proto_path=" + folder, "--decode=%s.%s" % (kind, message), kind + ".proto"],
                         input=data, stdout=subprocess.PIPE, check=True).stdout
    return tree(iter(out.decode().splitlines()))


def number(message, name):
    """A field that is zero is not sent."""
    return int(message[name][0]) if message[name] else 0


def numbers(message, name):
    return [int(v) for v in message[name]]


def add(sums, stack, value):
    if value:
        key = ";".join(reversed(stack))
        sums[key] = sums.get(key, 0) + value


def otlp(data):
    request = decode("otlp", "Request", data)
    (resource,), (d,) = request["resource"], request["dictionary"]
    texts = [t.decode() for t in d["text"]]
    for table in ("mapping", "location", "function", "link", "text", "attribute", "stack"):
        assert not d[table][0], "the table %s does not begin with its zero" % table
    out = {"types": {}, "resource": {a["key"][0].decode(): a["value"][0]["text"][0].decode()
                                     for a in resource["resource"][0]["attribute"]}}
    for profile in (p for s in resource["scope"] for p in s["profile"]):
        sums = out["types"].setdefault(texts[number(profile["sample_type"][0], "name")], {})
        assert len(profile["id"][0]) == 16, "an id has 16 bytes"
        out["time"] = number(profile, "time")
        for sample in profile["sample"]:
            stack = d["stack"][number(sample, "stack")]
            frames = [texts[number(d["function"][number(line, "function")], "name")]
                      for l in numbers(stack, "location") for line in d["location"][l]["line"]]
            add(sums, frames, number(sample, "value"))
    return out


def pprof(data):
    p = decode("pprof", "Profile", gzip.decompress(data))
    texts = [t.decode() for t in p["text"]]
    assert texts[0] == "", "the first text is not empty"
    functions = {number(f, "id"): texts[number(f, "name")] for f in p["function"]}
    locations = {number(l, "id"): [functions[number(x, "function")] for x in l["line"]] for l in p["location"]}
    kinds = [texts[number(t, "name")] for t in p["sample_type"]]
    out = {"types": {k: {} for k in kinds}}
    for sample in p["sample"]:
        values = numbers(sample, "value")
        assert len(values) == len(kinds), "as many values as types"
        for kind, value in zip(kinds, values):
            add(out["types"][kind], [f for l in numbers(sample, "location") for f in locations[l]], value)
    return out


if __name__ == "__main__":
    print(json.dumps({"otlp": otlp, "pprof": pprof}[sys.argv[1]](open(sys.argv[2], "rb").read())))
