// SPDX-License-Identifier: BSD-2-Clause
/* Fuzz the parser of HTTP request heads. */
#include "base/http.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *head = malloc(size + 5);
	struct mz_http_request r;
	int status;

	MUST(head);
	memcpy(head, data, size);
	memcpy(head + size, "\r\n\r\n", 5);
	for (size_t i = 0; i < size; i++)
		if (!head[i])
			head[i] = ' '; /* a 0 is refused before */
	status = mz_http_parse(head, 80, &r);
	MUST(!status || status == 400 || status == 403 || status == 405 || status == 414);
	MUST(status || (r.path[0] == '/' && memchr(r.path, 0, sizeof(r.path))));
	MUST(strlen(r.token) % MZ_HTTP_TOKEN == 0 && strlen(r.cookie) % MZ_HTTP_TOKEN == 0);
	MUST(status || mz_http_has_token(&r, "0123456789abcdef0123456789abcdef") ==
			       (!strcmp(r.token, "0123456789abcdef0123456789abcdef") ||
				!strcmp(r.cookie, "0123456789abcdef0123456789abcdef")));
	free(head);
	return 0;
}
