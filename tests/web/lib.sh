# SPDX-License-Identifier: BSD-2-Clause
# For tests that need the packages of web/package-lock.json:
# . "$MZ_ROOT/tests/web/lib.sh"; packages NAME || finish
. "$MZ_ROOT/tests/cli/lib.sh"
. "$MZ_ROOT/tests/npm.sh"
web=$MZ_BUILD/web # a copy of web/, with node_modules

# Installs the packages and puts the sources beside them. False: as npm_install.
packages() {
	npm_install "$1" "$MZ_ROOT/web" "$web" || return 1
	rm -rf "$web/src"
	cp -R "$MZ_ROOT/web/src" "$MZ_ROOT/web/build.mjs" "$web/"
}
