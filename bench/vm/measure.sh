# SPDX-License-Identifier: BSD-2-Clause
# For benches in the VM, after bench/lib.sh: guest instructions of the parts of workload.c.
# MZ_KERNELS: a folder of kernels to take as they are.
mkdir -p "$MZ_BUILD/bench"
make -s -C "$MZ_ROOT" O="$MZ_BUILD" "$MZ_BUILD/bench/vm/workload" "$MZ_BUILD/tests/vm/helper" >&2
kernels=${MZ_KERNELS:-$MZ_BUILD/kernel}

# need_kernels VARIANT...: builds what is missing
need_kernels() {
	[ -n "${MZ_KERNELS:-}" ] || "$MZ_ROOT/kernel/build" -o "$kernels" "$@" || exit 1
}

# guest VARIANT VM-OPTIONS... -- COMMAND
guest() {
	variant=$1
	shift
	memorizer vm --kernel "$kernels/$variant" --accel tcg --timeout 1500 "$@" < /dev/null
}

# measure NAME VARIANT VM-OPTIONS...: lines "PART INSTRUCTIONS" into NAME. An instruction
# takes a nanosecond; chance (addresses, seeds, the date) is switched off.
measure() {
	name=$1 variant=$2
	shift 2
	guest "$variant" --smp 1 --append norandmaps \
		--qemu "-icount shift=0,sleep=off -rtc base=2020-01-01,clock=vm -seed 1 -cpu max,-rdrand,-rdseed" \
		"$@" -- sh -c "cp $MZ_BUILD/bench/vm/workload /dev/shm && exec /dev/shm/workload" > "$name" &&
		return
	echo "${0##*/}: the $name run failed; nothing was measured" >&2
	exit 1
}
