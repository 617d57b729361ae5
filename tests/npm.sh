# SPDX-License-Identifier: BSD-2-Clause
# npm_install NAME FROM TO: installs what FROM/package-lock.json names into TO, which
# has FROM's package.json and .npmrc; once for a build folder. False: NAME was skipped
# (there is no npm, or nothing to get packages from) or failed.
npm_install() {
	if ! command -v node > /dev/null || ! command -v npm > /dev/null; then
		skip "$1" "there is no nodejs and npm; scripts/deps install check"
		return 1
	fi
	mkdir -p "$3"
	cp "$2/package.json" "$2/.npmrc" "$3/"
	cmp -s "$2/package-lock.json" "$3/.installed" && [ -d "$3/node_modules" ] && return 0
	cp "$2/package-lock.json" "$3/"
	for try in 1 2 3; do
		if (cd "$3" && npm ci) > npm.log 2>&1; then
			cp "$2/package-lock.json" "$3/.installed"
			return 0
		fi
		sleep 3
	done
	if (cd "$3" && npm ping) > ping.log 2>&1; then
		not_ok "$1" "npm ci failed, and the registry answers: $(grep -v '^npm warn' npm.log | tail -n 3 | tr '\n' ' ')"
	else
		skip "$1" "the npm registry does not answer"
	fi
	return 1
}
