/* SPDX-License-Identifier: BSD-2-Clause */
/* Context mixing: slower and smaller. */
#ifndef MZ_TRACE_CODEC_CM_H
#define MZ_TRACE_CODEC_CM_H

#include "trace/wire.h"

struct mz_codec_cm;

struct mz_codec_cm *mz_codec_cm_new(void);
void mz_codec_cm_free(struct mz_codec_cm *cm);

/* Appends n numbers to out as bytes, and the inverse. words: a sequence of symbols, predicted
 * from the preceding ones; otherwise quantities. context, if given, is what else is known about
 * each number. 0, -ENOMEM or -EBADMSG. */
int mz_codec_cm_encode(struct mz_codec_cm *cm, const uint64_t *v, uint32_t n, bool words,
		       const uint16_t *context, struct mz_buf *out);
int mz_codec_cm_decode(struct mz_codec_cm *cm, const uint8_t *data, size_t len, uint64_t *v,
		       uint32_t n, bool words, const uint16_t *context);

#endif
