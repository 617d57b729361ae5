// SPDX-License-Identifier: BSD-2-Clause
/* Demangle the names of Rust on standard input, a line each; others stay as they are. */
#include <stdio.h>
#include <string.h>

#include "symbols/rust_demangle.h"

int main(void)
{
	static char line[65536], out[65536];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		puts(mz_rust_demangle(line, out, sizeof(out)) ? out : line);
	}
	return 0;
}
