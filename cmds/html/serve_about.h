/* SPDX-License-Identifier: BSD-2-Clause */
/* What a file or a folder is, for the list of `memorizer serve`. */
#ifndef MZ_CMDS_SERVE_ABOUT_H
#define MZ_CMDS_SERVE_ABOUT_H

#include <stdbool.h>
#include <stdint.h>

struct serve_about {
	const char
		*kind; /* as in struct html_model; NULL: no recording, or none that a page shows */
	char command[256]; /* "" = not known */
	uint64_t pid, events, peak;
	bool has_pid, has_events, has_peak;
	unsigned files_cut; /* of it end early */
};

/* A separate process examines each entry: whatever happens to it, the others are listed. */
void serve_look(const char *path, struct serve_about *a);

/* From here on, this process has these limits: the recording may be hostile. */
void serve_limit(uint64_t bytes, unsigned seconds);

#endif
