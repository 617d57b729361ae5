# SPDX-License-Identifier: BSD-2-Clause
# For tests that need the packages of web/package-lock.json:
# . "$MZ_ROOT/tests/web/lib.sh"; packages NAME || finish
. "$MZ_ROOT/tests/cli/lib.sh"
web=$MZ_BUILD/web # a copy of web/, with node_modules

# Installs what the lock file names, once for a build folder. False: NAME was
# skipped (there is no npm, or nothing to get packages from) or failed.
packages() {
	if ! command -v node > /dev/null || ! command -v npm > /dev/null; then
		skip "$1" "there is no nodejs and npm; scripts/deps install check"
		return 1
	fi
	mkdir -p "$web"
	rm -rf "$web/src"
	cp -R "$MZ_ROOT/web/src" "$MZ_ROOT/web/build.mjs" "$MZ_ROOT/web/package.json" "$MZ_ROOT/web/.npmrc" "$web/"
	cmp -s "$MZ_ROOT/web/package-lock.json" "$web/.installed" && [ -d "$web/node_modules" ] && return 0
	cp "$MZ_ROOT/web/package-lock.json" "$web/"
	for try in 1 2 3; do
		if (cd "$web" && npm ci) > npm.log 2>&1; then
			cp "$MZ_ROOT/web/package-lock.json" "$web/.installed"
			return 0
		fi
		sleep 3
	done
	if (cd "$web" && npm ping) > ping.log 2>&1; then
		not_ok "$1" "npm ci failed, and the registry answers: $(grep -v '^npm warn' npm.log | tail -n 3 | tr '\n' ' ')"
	else
		skip "$1" "the npm registry does not answer"
	fi
	return 1
}
