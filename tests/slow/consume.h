/* SPDX-License-Identifier: BSD-2-Clause */
/* The recorder's side of the rings, for tests with both sides in one process. */
#ifndef MZ_TESTS_SLOW_CONSUME_H
#define MZ_TESTS_SLOW_CONSUME_H

#include <stdlib.h>

#include "record/user_rings.h"

/* Takes records until there are none and stopped() says that no more come. */
static inline void consume_rings(struct mz_user_rings *rings, bool (*stopped)(void))
{
	long n = 0;

	while (n >= 0 && (n || !stopped())) {
		if (mz_user_rings_images(rings) < 0)
			abort();
		n = mz_user_rings_drain(rings, false);
		if (!n)
			mz_user_rings_sleep(rings, 1000000);
	}
}

#endif
