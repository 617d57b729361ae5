# SPDX-License-Identifier: BSD-2-Clause
# For command-line tests: . "$MZ_ROOT/tests/cli/lib.sh" first, `finish` last.
# Each test runs in a folder of its own; the programs are in PATH.
PATH=$MZ_BUILD/bin:$PATH
data=$MZ_ROOT/tests/data
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache # what was seen before must not matter
cd "$work" || exit 1
failures=0

# Programs cannot be recorded with a sanitizer in them: MZ_PLAIN is a build without.
plain=${MZ_PLAIN:-$MZ_BUILD}
# Everything is recorded, however late a busy machine lets the recorder run.
plain_record() { "$plain/bin/memorizer" record --wait "$@"; }

ok() { echo "ok $1"; }
not_ok() { echo "not ok $1: $2"; failures=$((failures + 1)); }
skip() { echo "skip $1: $2"; }

# same NAME A B: the files are equal
same() {
	if cmp -s "$2" "$3"; then ok "$1"; else
		not_ok "$1" "$2 and $3 differ"
		diff "$2" "$3" | head -n 5 | sed 's/^/# /'
	fi
}
# check NAME COMMAND...: it succeeds
check() {
	name=$1
	shift
	if "$@"; then ok "$name"; else not_ok "$name" "failed: $*"; fi
}
# equal NAME GOT WANTED
equal() {
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got '$2', wanted '$3'"; fi
}
# fails NAME STATUS PATTERN COMMAND...: it exits with the status, and its message matches
fails() {
	name=$1 want=$2 pattern=$3
	shift 3
	"$@" > fails.out 2> fails.err < /dev/null
	got=$?
	if [ $got -ne "$want" ]; then
		not_ok "$name" "exit status $got, wanted $want: $(head -c 200 fails.err)"
	elif ! grep -qE -- "$pattern" fails.err; then
		not_ok "$name" "no '$pattern' in: $(head -c 200 fails.err)"
	else
		ok "$name"
	fi
}
# wait_for COMMAND: wait until it succeeds; give up after 6000 attempts, which take ten minutes at
# least: on a busy machine, everything is late
wait_for() { wait_until sh -c "$1"; }
# wait_until COMMAND...: the same for a command or function of this shell
wait_until() {
	n=0
	until "$@" > /dev/null 2>&1; do
		[ $n -ge 6000 ] && return 1
		sleep 0.1
		n=$((n + 1))
	done
}
# ends COMMAND...: its status. A command that hangs is ended after the time of wait_for.
ends() { timeout 600 "$@"; }
# record_running FILE PID OPTIONS...: record the program, which sleeps between its calls, until it
# has woken up twenty times, however long that takes. Messages go to FILE.err.
record_running() {
	file=$1 running=$2
	shift 2
	memorizer record -f --pid "$running" -o "$file" "$@" > "$file.err" 2>&1 &
	recorder=$!
	wait_for "grep -q 'stop with Ctrl-C' $file.err || ! grep -q '^State:.[^Z]' /proc/$recorder/status"
	woken="awk '/^voluntary_ctxt/ {print \$2}' /proc/$running/status"
	from=$(eval "$woken")
	grep -q 'stop with Ctrl-C' "$file.err" && wait_for "[ \$($woken) -ge $((from + 20)) ]"
	kill -TERM $recorder 2> /dev/null
	wait $recorder
}
finish() { [ $failures -eq 0 ]; exit; }
