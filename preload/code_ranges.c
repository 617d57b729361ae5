// SPDX-License-Identifier: BSD-2-Clause
/* Find out from /proc/self/maps which memory has code that was generated at run time, and which
 * memory is writable. */
#include "code_ranges.h"

#include "system.h"

#define RANGES	   256u
#define MAX_MISSES 4096u

struct ranges {
	unsigned n;
	struct addresses {
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

/* START-END PERM ...: the position of PERM; NULL = the line has another form. */
static const char *parse_range(const char *p, struct addresses *r)
{
	r->start = hex(&p);
	if (*p++ != '-')
		return NULL;
	r->end = hex(&p);
	return *p == ' ' ? p + 1 : NULL;
}

/* What to do with a line; true = no more lines are needed. */
typedef bool take_line(void *arg, const char *line);

/* PERM OFFSET DEVICE INODE: executable, and not from a file. */
static bool take_code(void *arg, const char *line)
{
	struct ranges *r = arg;
	struct addresses at;
	const char *p = parse_range(line, &at);

	if (!p || p[2] != 'x')
		return false;
	p += 5;
	hex(&p); /* offset */
	while (*p == ' ')
		p++;
	while (*p && *p != ' ')
		p++; /* device */
	if (p[0] != ' ' || p[1] != '0')
		return false;
	if (r->n && r->v[r->n - 1].end == at.start)
		r->v[r->n - 1].end = at.end;
	else if (r->n < RANGES)
		r->v[r->n++] = at;
	return false;
}

/* No heap, no lock, little stack. */
static void read_maps(take_line *take, void *arg)
{
	char line[128], buf[512];
	unsigned len = 0;
	bool done = false;
	ssize_t n;
	int fd = mz_open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && !done && (n = mz_read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n && !done; i++) {
			if (buf[i] != '\n') {
				/* a long line is cut: only the name of a file is lost, which is not
				 * used */
				if (len < sizeof(line) - 1)
					line[len++] = buf[i];
				continue;
			}
			line[len] = '\0';
			done = take(arg, line);
			len = 0;
		}
	}
	if (fd >= 0)
		mz_close(fd);
}

struct page {
	uintptr_t at;
	bool sealed;
};

static bool take_page(void *arg, const char *line)
{
	struct page *page = arg;
	struct addresses r;
	const char *p = parse_range(line, &r);

	if (!p || page->at < r.start || page->at >= r.end)
		return false;
	page->sealed = p[1] != 'w';
	return true;
}

bool mz_is_sealed(uintptr_t at)
{
	struct page page = {.at = at, .sealed = true};

	read_maps(take_page, &page);
	return page.sealed;
}

bool mz_in_made_code(uintptr_t pc)
{
	unsigned now = __atomic_load_n(&current, __ATOMIC_ACQUIRE) & 1;
	uint32_t free = 0;

	if (has(&both[now], pc))
		return true;
	/* the code may be new; but most addresses that are looked up are not code, and reading the
	 * maps is expensive */
	if (__atomic_add_fetch(&misses, 1, __ATOMIC_RELAXED) < look_again ||
	    !__atomic_compare_exchange_n(&busy, &free, 1, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	both[!now].n = 0;
	read_maps(take_code, &both[!now]);
	__atomic_store_n(&current, !now, __ATOMIC_RELEASE);
	misses = 0;
	if (has(&both[!now], pc))
		look_again = 1;
	else
		look_again = look_again < MAX_MISSES ? look_again * 2 : MAX_MISSES;
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
	return has(&both[!now], pc);
}
