/* SPDX-License-Identifier: BSD-2-Clause */
/* A plot of bytes over time, as SVG. */
#ifndef MZ_CMDS_REPLAY_PLOT_H
#define MZ_CMDS_REPLAY_PLOT_H

#include "base/buf.h"

struct plot_line {
	const char *name;
	const double *x; /* 0 to 1 */
	const double *y; /* bytes */
	size_t count;
	bool area; /* filled, and grey: what the lines are compared with */
};

void plot_svg(struct mz_buf *out, const char *title, const char *x_name,
	      const struct plot_line *lines, size_t count);

#endif
