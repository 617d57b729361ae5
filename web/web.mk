# SPDX-License-Identifier: BSD-2-Clause
# The page of `memorizer html`. The program takes web/dist/report.html as it is
# in the tree; `make web` makes that anew from web/src (needs nodejs and npm).

$(O)/cmds/html/html_page.o: web/dist/report.html

.PHONY: web
web:
	$(Q)cd web && npm ci --ignore-scripts --no-audit --no-fund && node build.mjs
