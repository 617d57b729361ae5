/* SPDX-License-Identifier: BSD-2-Clause */
/* objtool does not look at user programs. */
#define ANNOTATE_NOENDBR
