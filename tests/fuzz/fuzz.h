/* SPDX-License-Identifier: BSD-2-Clause */
/* What the fuzz targets have in common. A broken promise is a crash. */
#ifndef MZ_TESTS_FUZZ_H
#define MZ_TESTS_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text.h"

#define MUST(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #cond);         \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An error says what is wrong, in one printable line. */
static inline void must_explain(const struct mz_error *err, long ret)
{
	MUST(ret < 0 && err->code == -ret);
	MUST(err->text[0] && strlen(err->text) < sizeof(err->text));
	for (const char *p = err->text; *p; p++)
		MUST(*p >= 0x20 && *p < 0x7f);
}

/* Written and read again an event is the same. */
static inline void must_survive_text(const struct mz_event *ev, struct mz_tables *tables)
{
	struct mz_event was = *ev, again;
	struct mz_text_line info;
	struct mz_error err = {0};
	size_t room = mz_text_room(ev, tables), n;
	char *line = malloc(room);

	MUST(line);
	was.object = was.old_object = 0;
	n = mz_text_format(line, &was, tables, false);
	MUST(n < room);
	MUST(mz_text_parse(line, n, &again, &info, tables, &err) == 1);
	MUST(!info.junk);
	MUST(!memcmp(&was, &again, sizeof(was)));
	free(line);
}

#endif
