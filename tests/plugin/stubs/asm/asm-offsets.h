/* SPDX-License-Identifier: BSD-2-Clause */
/* Nothing that entry.S needs beyond linux/linkage.h. */
