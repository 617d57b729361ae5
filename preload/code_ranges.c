// SPDX-License-Identifier: BSD-2-Clause
/* Find the memory of code that was generated at run time. */
#include "code_ranges.h"

#include "system.h"

#define RANGES	   256u
#define MAX_MISSES 4096u

struct ranges {
	unsigned n;
	struct range {
		uintptr_t start, end;
	} v[RANGES];
};

/* Two: one is read while the other is being made. */
static struct ranges both[2];
static unsigned current;
static uint32_t busy;
static uint32_t misses, look_again = 1;

static bool has(const struct ranges *r, uintptr_t pc)
{
	for (unsigned i = 0; i < r->n && i < RANGES; i++)
		if (pc - r->v[i].start < r->v[i].end - r->v[i].start)
			return true;
	return false;
}

static uintptr_t hex(const char **p)
{
	uintptr_t v = 0;

	for (;; ++*p) {
		char c = **p;

		if (c >= '0' && c <= '9')
			v = v << 4 | (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uintptr_t)(c - 'a' + 10);
		else
			return v;
	}
}

/* START-END PERM OFFSET DEVICE INODE: executable, and not from a file. */
static void take_line(struct ranges *r, const char *p)
{
	uintptr_t start = hex(&p), end;

	if (*p++ != '-')
		return;
	end = hex(&p);
	if (p[0] != ' ' || p[3] != 'x')
		return;
	p += 6;
	hex(&p); /* offset */
	while (*p == ' ')
		p++;
	while (*p && *p != ' ')
		p++; /* device */
	if (p[0] != ' ' || p[1] != '0')
		return;
	if (r->n && r->v[r->n - 1].end == start)
		r->v[r->n - 1].end = end;
	else if (r->n < RANGES)
		r->v[r->n++] = (struct range){start, end};
}

/* No heap, no lock, little stack. */
static void read_maps(struct ranges *r)
{
	char line[128], buf[512];
	unsigned len = 0;
	ssize_t n;
	int fd = mz_open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	r->n = 0;
	while (fd >= 0 && (n = mz_read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (buf[i] != '\n') {
				/* a long line is cut: only the name of a file is lost, which is not
				 * used */
				if (len < sizeof(line) - 1)
					line[len++] = buf[i];
				continue;
			}
			line[len] = '\0';
			take_line(r, line);
			len = 0;
		}
	}
	if (fd >= 0)
		mz_close(fd);
}

bool mz_in_made_code(uintptr_t pc)
{
	unsigned now = __atomic_load_n(&current, __ATOMIC_ACQUIRE) & 1;
	uint32_t free = 0;

	if (has(&both[now], pc))
		return true;
	/* the code may be new; but most addresses that are asked about are not code, and reading
	 * the maps is expensive */
	if (__atomic_add_fetch(&misses, 1, __ATOMIC_RELAXED) < look_again ||
	    !__atomic_compare_exchange_n(&busy, &free, 1, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	read_maps(&both[!now]);
	__atomic_store_n(&current, !now, __ATOMIC_RELEASE);
	misses = 0;
	if (has(&both[!now], pc))
		look_again = 1;
	else
		look_again = look_again < MAX_MISSES ? look_again * 2 : MAX_MISSES;
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
	return has(&both[!now], pc);
}
