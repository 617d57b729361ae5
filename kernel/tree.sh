# SPDX-License-Identifier: GPL-2.0
#
# Memorizer's part of a kernel tree: which files, which patches, and how they are made
# beside the tree before the tree is touched. Read by kernel/build and kernel/apply, which
# set $here, the folder of this file, and define die().

# The series that have patches, each in patches/SERIES.
known_series() {
	(cd "$here/patches" && ls | sort -V | tr '\n' ' ' | sed 's/ $//')
}

# series_of TREE: VERSION.PATCHLEVEL of its Makefile.
series_of() {
	[ -f "$1/Makefile" ] && [ -f "$1/Kbuild" ] && [ -d "$1/mm" ] ||
		die "$1 is not a kernel tree: it has no Makefile, Kbuild and mm/"
	sed -n 's/^VERSION = *//p; s/^PATCHLEVEL = *//p' "$1/Makefile" | head -n 2 | paste -sd .
}

# Every file of this folder that belongs into a kernel tree, by its path there.
overlay_files() {
	(cd "$here" && find . -type f ! -path './patches/*' ! -path './configs/*' \
		! -path ./build ! -path ./apply ! -path ./tree.sh ! -path ./kernel.mk \
		! -name '*.o' ! -name '*~' | sed 's|^\./||' | LC_ALL=C sort)
}

# patched_files SERIES: the kernel's own files that the patches change.
patched_files() {
	cat "$here/patches/$1"/*.patch |
		sed -n 's|^+++ b/\([^	 ]*\).*|\1|p; s|^--- a/\([^	 ]*\).*|\1|p' |
		LC_ALL=C sort -u
}

# patch_stage PATCH STAGE [OPTION]: apply one patch to the copies in STAGE. What does not
# fit is said by file and hunk. Fuzz is refused: a hunk that lands in the wrong function
# compiles and counts wrongly.
patch_stage() {
	(cd "$2" && LC_ALL=C patch -p1 -F0 --no-backup-if-mismatch -r - ${3:+"$3"} <"$1") >"$2.log" 2>&1 && return
	awk -v patch="${1#"$here"/}" '
	/^(patching|checking) file / { file = $3 }
	/^can.t find file/ { printf "  %s: a file that the patch changes is not in the tree\n", patch }
	/^Hunk #[0-9]+ FAILED/ { sub(/^#/, "", $2); printf "  %s: hunk %s of %s, line %s\n", file, $2, patch, $5 + 0 }
	' "$2.log" >&2
	return 1
}

# stage_patches SERIES STAGE: all patches of a series, in order, to the copies in STAGE.
stage_patches() {
	for p in "$here/patches/$1"/*.patch; do
		patch_stage "$p" "$2" || return 1
	done
	rm -f "$2.log"
}

# stage_overlay STAGE: our own files beside the patched ones.
stage_overlay() {
	overlay_files | while read -r f; do
		mkdir -p "$1/$(dirname "$f")"
		cp "$here/$f" "$1/$f"
	done
}
