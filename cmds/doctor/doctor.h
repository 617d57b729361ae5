/* SPDX-License-Identifier: BSD-2-Clause */
/* What `memorizer doctor` finds: one row per check. */
#ifndef MZ_CMDS_DOCTOR_DOCTOR_H
#define MZ_CMDS_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verdict { GOOD, LESS, BAD };

struct finding {
	const char *name;
	enum verdict verdict;
	char found[160];
	const char *means; /* of LESS and BAD */
	const char *mend;  /* the command; NULL = there is none */
};

#define MAX_FINDINGS 24

struct visit {
	struct finding f[MAX_FINDINGS];
	size_t n;
	uint64_t caps;
	bool kernel_ok, user_ok;
};

/* means and mend are for LESS and BAD; the caller fills in found. */
struct finding *doctor_add(struct visit *v, const char *name, enum verdict verdict,
			   const char *means, const char *mend);

/* doctor_install.c: the parts of the installation, and what they start */
void doctor_installation(struct visit *v);

#endif
