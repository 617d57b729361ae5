# SPDX-License-Identifier: BSD-2-Clause
# For tests that need the packages of tests/export/package-lock.json:
# . "$MZ_ROOT/tests/export/lib.sh"; packages NAME || finish
. "$MZ_ROOT/tests/cli/lib.sh"
readers=$MZ_BUILD/tests/readers # node_modules, and the scripts that use them

# Installs what the lock file names, once for a build folder. False: NAME was
# skipped (there is no npm, or nothing to get packages from) or failed.
packages() {
	if ! command -v node > /dev/null || ! command -v npm > /dev/null; then
		skip "$1" "there is no nodejs and npm; scripts/deps install check"
		return 1
	fi
	mkdir -p "$readers"
	cp "$MZ_ROOT"/tests/export/*.mjs "$MZ_ROOT/tests/export/package.json" "$MZ_ROOT/tests/export/.npmrc" "$readers/"
	cmp -s "$MZ_ROOT/tests/export/package-lock.json" "$readers/.installed" && [ -d "$readers/node_modules" ] && return 0
	cp "$MZ_ROOT/tests/export/package-lock.json" "$readers/"
	for try in 1 2 3; do
		if (cd "$readers" && npm ci) > npm.log 2>&1; then
			cp "$MZ_ROOT/tests/export/package-lock.json" "$readers/.installed"
			return 0
		fi
		sleep 3
	done
	if (cd "$readers" && npm ping) > ping.log 2>&1; then
		not_ok "$1" "npm ci failed, and the registry answers: $(grep -v '^npm warn' npm.log | tail -n 3 | tr '\n' ' ')"
	else
		skip "$1" "the npm registry does not answer"
	fi
	return 1
}
# read_by SCRIPT ARGUMENTS...: what a reader says
read_by() { node "$readers/$1.mjs" "$(pwd)" $(shift; echo "$@"); }
