# SPDX-License-Identifier: BSD-2-Clause
# For benches: . "$MZ_ROOT/bench/lib.sh"
PATH=$MZ_BUILD/bin:$MZ_BUILD/tests/tools:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# seconds COMMAND...: user + system time of the fastest of five runs
seconds() { python3 "$MZ_ROOT/bench/seconds.py" 5 "$@"; }
# once COMMAND...: the same of one run, for slow peers
once() { python3 "$MZ_ROOT/bench/seconds.py" 1 "$@"; }
# row NAME VALUE RATIO PEER BAR
row() { printf '%s\t%s\t%s\t%s\t%s\n' "$@"; }
calc() { python3 -c "print($1)"; }
