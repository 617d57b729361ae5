/* SPDX-License-Identifier: BSD-2-Clause */
#define PMD_SHIFT 21
