# SPDX-License-Identifier: BSD-2-Clause
# For tests that need the packages of tests/export/package-lock.json:
# . "$MZ_ROOT/tests/export/lib.sh"; packages NAME || finish
. "$MZ_ROOT/tests/cli/lib.sh"
. "$MZ_ROOT/tests/npm.sh"
readers=$MZ_BUILD/tests/readers # node_modules, and the scripts that use them

packages() {
	npm_install "$1" "$MZ_ROOT/tests/export" "$readers" || return 1
	cp "$MZ_ROOT"/tests/export/*.mjs "$readers/"
}
