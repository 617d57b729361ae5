// SPDX-License-Identifier: BSD-2-Clause
#include "trace/cm.h"

#include <errno.h>
#include <stdlib.h>

struct mz_cm {
	int dummy;
};

struct mz_cm *mz_cm_new(void)
{
	return calloc(1, sizeof(struct mz_cm));
}

void mz_cm_free(struct mz_cm *cm)
{
	free(cm);
}

int mz_cm_encode(struct mz_cm *cm, const uint64_t *v, uint32_t n, bool words,
		 const uint16_t *context, struct mz_buf *out)
{
	(void)cm, (void)words, (void)context;
	for (uint32_t i = 0; i < n; i++)
		mz_buf_number(out, v[i]);
	return out->failed ? -ENOMEM : 0;
}

int mz_cm_decode(struct mz_cm *cm, const uint8_t *data, size_t len, uint64_t *v, uint32_t n,
		 bool words, const uint16_t *context)
{
	struct mz_bytes in = {.p = data, .end = data + len};

	(void)cm, (void)words, (void)context;
	for (uint32_t i = 0; i < n; i++)
		v[i] = mz_bytes_number(&in);
	return in.bad || in.p != in.end ? -EBADMSG : 0;
}
