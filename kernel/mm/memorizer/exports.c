// SPDX-License-Identifier: GPL-2.0
/*
 * The entries of entry.S, for modules. They are exported from C, where a prototype
 * gives them a version (CONFIG_MODVERSIONS); the loader takes no symbol without one.
 */
#include <linux/export.h>

#define EXPORT_ENTRY(name)			\
	void __memorizer_at_##name(void);	\
	EXPORT_SYMBOL(__memorizer_at_##name)

/* Of each kind of access, for any address, the kernel image and the page array. */
#define EXPORT_ENTRIES(kinds)			\
	EXPORT_ENTRY(kinds);			\
	EXPORT_ENTRY(kinds##_image);		\
	EXPORT_ENTRY(kinds##_page)

EXPORT_ENTRIES(r);
EXPORT_ENTRIES(w);
EXPORT_ENTRIES(x);
EXPORT_ENTRIES(rr);
EXPORT_ENTRIES(rw);
EXPORT_ENTRIES(wr);
EXPORT_ENTRIES(ww);
EXPORT_ENTRY(r_range);
EXPORT_ENTRY(w_range);
EXPORT_ENTRY(x_range);
