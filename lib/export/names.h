/* SPDX-License-Identifier: BSD-2-Clause */
/* What pprof and OpenTelemetry's profiles have in common. */
/*
 * They have names for the values, and numbered tables of strings, functions and modules. Number 0
 * of each table is the empty entry.
 */
#ifndef MZ_EXPORT_NAMES_H
#define MZ_EXPORT_NAMES_H

#include "analysis/profile.h"
#include "base/buf.h"

/* A value under the name that users of pprof know, where there is one. */
struct mz_export_value {
	const char *name, *unit;
	const char *value; /* of mz_profile_find_value() */
};
extern const struct mz_export_value mz_export_values[];
#define MZ_EXPORT_VALUES      11
#define MZ_EXPORT_OTLP_VALUES 6 /* the first of them; OpenTelemetry's readers know them, too */

struct mz_export_names {
	struct mz_tables *strings;
	struct mz_tables *functions; /* as stacks of two: name, file */
	struct mz_tables *modules;   /* their strings */
	bool failed;		     /* memory ran out */
};

void mz_export_names_init(struct mz_export_names *n);
void mz_export_names_deinit(struct mz_export_names *n);

/* The number of a string; the same text gets the same number. NULL and "" have 0. */
uint64_t mz_export_string(struct mz_export_names *n, const char *s);
/* The number of a frame's function, which is identified by name and file, and that of its module; 0
 * = none. */
uint32_t mz_export_function(struct mz_export_names *n, const struct mz_frame *f);
uint32_t mz_export_module(struct mz_export_names *n, const struct mz_frame *f);
/* All strings as fields of this number, the empty one first. */
void mz_export_strings(const struct mz_export_names *n, struct mz_buf *out, unsigned field);

#endif
