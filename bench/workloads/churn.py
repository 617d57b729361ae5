# SPDX-License-Identifier: BSD-2-Clause
"""JSON, regular expressions, a recursion deeper than usual stacks, and numpy if it is there."""
import json, re

try:
    import numpy
    a = numpy.arange(200000.0).reshape(500, 400)
    print(float((a @ a.T).trace()))
except ImportError:
    pass


def deep(n):
    return [n] if n == 0 else [n] + deep(n - 1)


text = json.dumps([{"k%d" % i: list(range(i % 50))} for i in range(4000)])
print(len(text), len(json.loads(text)), sum(map(len, re.findall("[0-9]+", text))), len(deep(200)))
