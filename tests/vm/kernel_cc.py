# SPDX-License-Identifier: BSD-2-Clause
"""Compile C once more as the build of a kernel did, into assembly."""
import re
import shlex
import subprocess
import tempfile


def assembly(build, name, options=(), first=(), source=None):
    """Of mm/memorizer/NAME.c, or of another source in its place. FIRST goes before all options."""
    line = open(f"{build}/mm/memorizer/.{name}.o.cmd").readline()
    words = shlex.split(line.split(":=", 1)[1].split(" ; ")[0])
    words[words.index("-o") + 1] = "-"
    words[words.index("-c")] = "-S"
    if source:
        words[-1] = source
    words = [w for w in words if not re.match(r"-g(dwarf.*)?$|-Wp,-MMD", w)]
    return subprocess.run(words[:1] + list(first) + words[1:] + list(options), cwd=build, check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def offsets(build, struct, fields):
    """Where the members of a structure of Memorizer are."""
    with tempfile.NamedTemporaryFile("w", suffix=".c") as f:
        f.write('#include "memorizer.h"\n')
        for field in fields:
            f.write(f"extern const unsigned long at_{field};\n"
                    f"const unsigned long at_{field} = offsetof({struct}, {field});\n")
        f.flush()
        text = assembly(build, "object", source=f.name)
    # a zero stands as .zero 8
    return {n: int(v) if kind == "quad" else 0 for n, kind, v in re.findall(r"at_(\w+):\n\t\.(quad|zero)\t(\d+)", text)}
