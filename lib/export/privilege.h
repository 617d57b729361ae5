/* SPDX-License-Identifier: BSD-2-Clause */
/* Export the privileges of a kernel that was cut into domains, for other programs. */
#ifndef MZ_EXPORT_PRIVILEGE_H
#define MZ_EXPORT_PRIVILEGE_H

#include "analysis/privilege.h"
#include "base/output.h"
#include "export/table.h"

/* im: for the lines of allocation sites, types: for the members of their objects; NULL = not
 * known. All: 0 or -errno with err set. */
struct mz_image;
struct mz_types;
int mz_export_cpm(const struct mz_privilege *p, const struct mz_cut *c, const struct mz_image *im,
		  struct mz_types *types, struct mz_output *out, struct mz_error *err);
int mz_export_graphml(const struct mz_privilege *p, const struct mz_cut *c, struct mz_output *out,
		      struct mz_error *err);

/* The file that mz_cut_read() reads. */
int mz_export_cut(const struct mz_privilege *p, const struct mz_cut *c, struct mz_output *out,
		  struct mz_error *err);

/* Tables: functions, objects, accesses, calls. A format with one table gets the one that is
 * named. */
enum { MZ_PRIVILEGE_TABLES = 4 };
extern const char *const mz_privilege_table_names[MZ_PRIVILEGE_TABLES + 1];
int mz_export_privilege_tables(const struct mz_table_ops *ops, const struct mz_privilege *p,
			       const struct mz_cut *c, int which, struct mz_output *out,
			       struct mz_error *err);

#endif
