# SPDX-License-Identifier: BSD-2-Clause
# For tests in the VM: . "$MZ_ROOT/tests/vm/lib.sh" first, `finish` last. The guest has the
# host's files and environment, so scripts that run in it can source this file, too.
. "$MZ_ROOT/tests/cli/lib.sh"
PATH=$MZ_BUILD/tests/vm:$MZ_BUILD/bench/vm:$PATH
memorizer_dir=/sys/kernel/debug/memorizer
# MZ_SERIES: 6.12 or 6.1. MZ_KERNELS: a folder of built kernels, which are used as they are.
# MZ_VARIANT: a variant that includes all of `memorizer` and takes its place
series=${MZ_SERIES:-6.12}
case $series in
6.12) kernels=${MZ_KERNELS:-$MZ_BUILD/kernel} ;;
*) kernels=${MZ_KERNELS:-$MZ_BUILD/kernel-$series} ;;
esac

# need_kernel VARIANT...: builds what is missing; skips the test where that cannot be.
need_kernel() {
	[ -n "${MZ_KERNELS:-}" ] || build_kernel $(printf '%s ' "$@" | sed "s/\<memorizer\>/${MZ_VARIANT:-memorizer}/")
	[ -z "${MZ_VARIANT:-}" ] || stand_in
}

build_kernel() {
	what=${0##*/}
	if [ ! -f "${MEMORIZER_KERNEL_SOURCE:-/usr/src/linux-source-$series.tar.xz}" ]; then
		skip "${what%.test}" "no source of Linux $series; scripts/deps install kernel"
		exit 0
	elif ! command -v qemu-system-x86_64 > /dev/null; then
		skip "${what%.test}" "no QEMU; scripts/deps install kernel"
		exit 0
	fi
	"$MZ_ROOT/kernel/build" -s "$series" -o "$kernels" "$@" > kernel.log 2>&1 && return
	not_ok "the kernel builds" "$(tail -n 1 kernel.log)"
	tail -n 20 kernel.log | sed 's/^/# /'
	exit 1
}

# stand_in: from here on, the kernel `memorizer` is that of MZ_VARIANT
stand_in() {
	mkdir kernels
	ln -s "$kernels"/* kernels
	ln -sfn "$kernels/$MZ_VARIANT" kernels/memorizer
	kernels=$PWD/kernels
}

# build_module VARIANT: $PWD/VARIANT-module/mz_probe.ko and the others. Several tests need them: they
# are built once for each build of the kernel and each state of their sources.
build_module() {
	of=$(cd "$kernels/$1" && pwd -P)
	kept=$MZ_BUILD/tests/vm/modules-$series-${of##*/}
	mkdir -p "$kept"
	(
		flock 9
		{ echo "$of"; stat -c %y "$of/vmlinux"; sha256sum "$MZ_ROOT"/tests/vm/module/*; } > now
		cmp -s now "$kept/of" && exit 0
		rm -rf "$kept/built" "$kept/of"
		cp -R "$MZ_ROOT/tests/vm/module" "$kept/built"
		env -u MAKEFLAGS -u MAKELEVEL -u O -u V make -C "$of" M="$kept/built" KBUILD_MODPOST_WARN=1 modules > module.log 2>&1 &&
			mv now "$kept/of"
	) 9> "$kept/lock" && cp -R "$kept/built" "$1-module" && return
	not_ok "the module compiles" "$(grep -m 1 -i error module.log)"
	finish
}

# vm ARGS...: memorizer vm, limited to LIMIT seconds of CPU time for each CPU of the guest.
# The CPUs of a kernel that does not patch its code (variant debug) run in parallel, so that more
# races can happen. The priority is normal: under nice(1), a guest gets next to no time on a busy
# machine.
vm() {
	# QEMU 7.2 may run code that another CPU has just patched
	grep -qE '^CONFIG_(JUMP_LABEL|DYNAMIC_FTRACE)=y' "$kernels/${KERNEL:-memorizer}/.config" 2> /dev/null || set -- --parallel "$@"
	"$MZ_ROOT/tests/vm/within.py" "$((${LIMIT:-1500} * 2))" \
		memorizer vm --kernel "$kernels/${KERNEL:-memorizer}" "$@" < /dev/null
}

# in_guest "SCRIPT..." VM-OPTIONS...: boots once and runs the scripts one after the other, each in
# a folder of its own; their ok and not ok lines become ours
in_guest() {
	scripts=$1
	shift
	vm --off "$@" -- sh -c 'for s; do mkdir $s && (cd $s && sh "$MZ_ROOT/tests/vm/$s"); done' - $scripts > guest.out 2> guest.err
	status=$?
	grep -E '^(ok|not ok|skip|#) ' guest.out
	failures=$((failures + $(grep -c '^not ok ' guest.out)))
	for script in $scripts; do
		grep -qx "end of $script" guest.out && continue
		not_ok "$script runs to its end" "status $status: $(tail -n 1 guest.err)"
		tail -n 15 guest.err | sed 's/^/# /'
	done
	quiet_kernel "$scripts" guest.err
}

# end_guest SCRIPT: the last line of a script for the guest
end_guest() {
	echo "end of $1"
	exit 0
}

# quiet_kernel NAME STDERR: the guest's kernel did not complain
quiet_kernel() {
	splat=$(sed -n "s/.*kernel complained: //p; s/.*its kernel said: //p" "$2")
	equal "$1: the kernel is quiet" "$splat" ""
}

# set_to FILE VALUE: memorizer's control files
set_to() { echo "$2" > "$memorizer_dir/$1"; }

# stat_of SECTION NAME [FILE]: a number of show_stats
stat_of() {
	awk -v section="$1" -v name="$2" '
	/^[a-z]/ { in_it = ($1 == section) }
	in_it && /^ / { v = $NF; line = $0; sub(/^ +/, "", line); sub(/ +[0-9]+$/, "", line)
		if (line == name && !done) { print v; done = 1 } }' "${3:-$memorizer_dir/show_stats}"
}

# kmap_problems FILE: the first lines that do not have the documented form
kmap_problems() {
	hex='[0-9a-f]{16}'
	pid='-?[0-9]+(@[0-9]+)?'
	LC_ALL=C grep -nvE "^($hex,$pid,$hex,[0-9]+,[0-9]+,[0-9]+,$hex,[^,]*|  $hex,$pid,[0-9]+,[0-9]+)\$" "$1" | head -n 3
	head -n 1 "$1" | grep -q '^[0-9a-f]' || echo "it does not begin with an object"
}

# objects FILE FIELD=VALUE...: how many object lines have these values (by number)
objects() {
	file=$1
	shift
	awk -F, -v want="$*" '
	BEGIN { n = split(want, w, " "); for (i = 1; i <= n; i++) { split(w[i], kv, "="); val[kv[1]] = kv[2] } }
	/^ / { next }
	{ for (f in val) if ($f != val[f]) next; c++ }
	END { print c + 0 }' "$file"
}
