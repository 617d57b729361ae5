// SPDX-License-Identifier: BSD-2-Clause
/* Who allocates in the kernel now: a live table in the terminal. The kernel side
 * counts by itself (as with kmemtraced --summary); this reads its counts. */
#include <curses.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "cmds/cmd.h"
#include "record/kmem.h"
#include "symbols/kallsyms.h"

struct opts {
	double delay;
	bool caches;
	const char *filter;
};

static const struct mz_opt opts[] = {
	MZ_OPT('d', "delay", "SECONDS", MZ_OPT_DOUBLE, struct opts, delay, "between two looks (1)"),
	MZ_OPT('c', "caches", NULL, MZ_OPT_FLAG, struct opts, caches, "start with caches, not call sites"),
	MZ_OPT(0, "filter", "TEXT", MZ_OPT_STR, struct opts, filter, "only names with TEXT in them"),
	{0},
};

enum sort { BY_RATE, BY_BYTES, BY_WASTE, BY_NET, BY_TOTAL };

struct line {
	char name[160];
	uint64_t allocs, frees, req, given, freed; /* since the start */
	double rate, bytes;			   /* a second, since the last look */
};

struct screen {
	struct mz_kmem *k;
	struct mz_kallsyms *syms;
	struct mz_kmem_row *old; /* of the last look, sorted by key */
	size_t nold;
	struct line *lines;
	size_t nlines;
	double seconds; /* between the looks */
	uint64_t at;
	enum sort sort;
	bool caches, paused;
	char filter[64];
	bool typing;
};

/* Told by signals; the loop looks at it. */
static volatile sig_atomic_t ended;

static void on_signal(int sig)
{
	ended = sig;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- from counts to lines ----------------------------------------------- */

static bool is_alloc(const struct mz_kmem_row *r)
{
	return r->kind == KMT_KMALLOC || r->kind == KMT_CACHE_ALLOC || r->kind == KMT_PAGE_ALLOC;
}

static int by_key(const struct mz_kmem_row *x, const struct mz_kmem_row *y)
{
	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return strcmp(x->cache, y->cache);
}

static void name_of(const struct screen *s, const struct mz_kmem_row *r, char *buf, size_t size)
{
	if (!s->caches)
		mz_kallsyms_text(s->syms, r->site, buf, size);
	else if (r->cache[0])
		mz_printable(buf, size, r->cache, strnlen(r->cache, KMT_NAME));
	else
		snprintf(buf, size, "%s", r->kind == KMT_KMALLOC ? "(kmalloc)" : "(kfree)");
}

static void add_row(struct screen *s, const struct mz_kmem_row *r, const struct mz_kmem_row *was)
{
	char name[160];
	struct line *l = NULL;

	name_of(s, r, name, sizeof(name));
	if (s->filter[0] && !strstr(name, s->filter))
		return;
	for (size_t i = 0; i < s->nlines && !l; i++)
		if (!strcmp(s->lines[i].name, name))
			l = &s->lines[i];
	if (!l) {
		l = &s->lines[s->nlines++];
		*l = (struct line){0};
		memcpy(l->name, name, sizeof(name));
	}
	if (!is_alloc(r)) {
		l->frees += r->count;
		l->freed += r->given;
		return;
	}
	l->allocs += r->count;
	l->req += r->req;
	l->given += r->given;
	l->rate += (double)(r->count - (was ? was->count : 0)) / s->seconds;
	l->bytes += (double)(r->given - (was ? was->given : 0)) / s->seconds;
}

static double weight(const struct line *l, enum sort sort)
{
	switch (sort) {
	case BY_BYTES:
		return l->bytes;
	case BY_WASTE:
		return (double)(l->given - l->req);
	case BY_NET:
		return (double)l->given - (double)l->freed;
	case BY_TOTAL:
		return (double)l->allocs;
	default:
		return l->rate;
	}
}

static int by_weight(const void *a, const void *b, void *arg)
{
	double x = weight(a, *(enum sort *)arg), y = weight(b, *(enum sort *)arg);

	return x > y ? -1 : x < y ? 1 : strcmp(((const struct line *)a)->name, ((const struct line *)b)->name);
}

static bool look(struct screen *s)
{
	uint64_t now = now_ns();
	size_t n, o = 0;
	struct mz_kmem_row *rows = mz_kmem_summary(s->k, &n);
	struct line *lines = rows ? realloc(s->lines, (n + 1) * sizeof(*lines)) : NULL;

	if (!lines) {
		free(rows);
		return false;
	}
	s->lines = lines;
	s->nlines = 0;
	s->seconds = now > s->at ? (double)(now - s->at) / 1e9 : 1e-9;
	for (size_t i = 0; i < n; i++) {
		while (o < s->nold && by_key(&s->old[o], &rows[i]) < 0)
			o++;
		add_row(s, &rows[i],
			o < s->nold && !by_key(&s->old[o], &rows[i]) ? &s->old[o] : NULL);
	}
	free(s->old);
	s->old = rows;
	s->nold = n;
	s->at = now;
	qsort_r(s->lines, s->nlines, sizeof(*s->lines), by_weight, &s->sort);
	return true;
}

/* ---- the screen --------------------------------------------------------- */

static void draw(struct screen *s)
{
	static const char *const sorts[] = {"rate", "bytes", "waste", "net", "total"};
	struct mz_kmem_counts n;
	char lost[32], own[32], given[32], net[40];

	mz_kmem_counts(s->k, &n);
	erase();
	mvprintw(0, 0, "memorizer top - %s by %s%s  lost %s  own %s left out%s%s",
		 s->caches ? "caches" : "call sites", sorts[s->sort], s->paused ? " - PAUSED" : "",
		 talk_count(lost, mz_kmem_lost(&n) + n.other), talk_count(own, n.own),
		 s->filter[0] || s->typing ? "  filter: " : "", s->filter);
	attron(A_REVERSE);
	mvprintw(1, 0, "%12s %12s %12s %7s %12s  %-*s", "allocs/s", "bytes/s", "allocs", "waste",
		 s->caches ? "net" : "-", COLS > 62 ? COLS - 62 : 1, s->caches ? "cache" : "call site");
	attroff(A_REVERSE);
	for (size_t i = 0; i < s->nlines && (int)i < LINES - 3; i++) {
		const struct line *l = &s->lines[i];
		int64_t live = (int64_t)(l->given - l->freed);

		/* a kfree does not say whose memory it frees */
		if (s->caches && l->name[0] != '(')
			snprintf(net, sizeof(net), "%s%s", live < 0 ? "-" : "",
				 talk_bytes(given, (uint64_t)(live < 0 ? -live : live)));
		else
			snprintf(net, sizeof(net), "-");
		mvprintw((int)i + 2, 0, "%12.0f %12s %12" PRIu64 " %6.1f%% %12s  %.*s", l->rate,
			 talk_bytes(lost, (uint64_t)l->bytes), l->allocs,
			 l->given ? 100.0 * (double)(l->given - l->req) / (double)l->given : 0.0, net,
			 COLS > 62 ? COLS - 62 : 1, l->name);
	}
	mvprintw(LINES - 1, 0, "%s", s->typing ? "type a part of a name, Enter to end"
					       : "q quit  c caches/sites  r rate  b bytes  w waste  n net  "
						 "t total  p pause  / filter");
	refresh();
}

static void type(struct screen *s, int key)
{
	size_t len = strlen(s->filter);

	if (key == '\n' || key == '\r' || key == 27)
		s->typing = false;
	else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && len)
		s->filter[len - 1] = '\0';
	else if (key >= 0x20 && key < 0x7f && len + 1 < sizeof(s->filter)) {
		s->filter[len] = (char)key;
		s->filter[len + 1] = '\0';
	}
}

/* false: the user has seen enough. */
static bool obey(struct screen *s, int key)
{
	static const char keys[] = "rbwnt";
	const char *found;

	if (s->typing) {
		type(s, key);
		return true;
	}
	found = key > 0 && key < 128 ? strchr(keys, key) : NULL;
	if (found && *found)
		s->sort = (enum sort)(found - keys);
	else if (key == 'c')
		s->caches = !s->caches;
	else if (key == 'p' || key == ' ')
		s->paused = !s->paused;
	else if (key == '/') {
		s->typing = true;
		s->filter[0] = '\0';
	}
	return key != 'q';
}

static int show(struct screen *s, double delay)
{
	uint64_t next = 0;
	bool on = true;

	while (on && !ended) {
		int key;

		if (!s->paused && now_ns() >= next) {
			if (!look(s))
				return -ENOMEM;
			next = now_ns() + (uint64_t)(delay * 1e9);
		}
		draw(s);
		timeout(100);
		key = getch();
		if (key != ERR)
			on = obey(s, key);
		if (key != ERR && key != KEY_RESIZE && !s->paused)
			next = now_ns() < next - (uint64_t)(delay * 1e9) + 200000000u ? next : 0;
	}
	return 0;
}

/* ---- start and end ------------------------------------------------------ */

static void catch_signals(void)
{
	static const int sigs[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction a = {.sa_handler = on_signal};

	for (size_t i = 0; i < sizeof(sigs) / sizeof(*sigs); i++)
		sigaction(sigs[i], &a, NULL);
}

static int run(void *options, int argc, char **argv)
{
	const struct opts *o = options;
	struct mz_kmem_options k = {.groups = MZ_KMEM_SLAB, .summary = true};
	struct screen s = {.caches = o->caches};
	struct mz_error err = {0};
	int ret = 0;

	if (argc)
		return talk_usage("no arguments, please; not '%s'", argv[0]);
	if (o->delay < 0 || (o->delay > 0 && o->delay < 0.1))
		return talk_usage("--delay: at least 0.1 seconds");
	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		return talk_fail("a terminal is needed; for a pipe use: kmemtraced --summary --duration 10");
	if (o->filter)
		snprintf(s.filter, sizeof(s.filter), "%s", o->filter);
	s.k = mz_kmem_load(&k, &err);
	if (!s.k)
		return talk_error(&err);
	s.syms = mz_kallsyms_load("/proc/kallsyms", NULL);
	catch_signals();
	if (mz_kmem_attach(s.k, &err) < 0) {
		mz_kmem_free(s.k);
		mz_kallsyms_free(s.syms);
		return talk_error(&err);
	}
	s.at = now_ns();
	if (!initscr()) {
		ret = -EIO;
	} else {
		cbreak();
		noecho();
		keypad(stdscr, TRUE);
		curs_set(0);
		ret = show(&s, o->delay > 0 ? o->delay : 1.0);
		endwin();
	}
	mz_kmem_detach(s.k);
	mz_kmem_free(s.k);
	mz_kallsyms_free(s.syms);
	free(s.old);
	free(s.lines);
	return ret < 0 ? talk_fail("the screen cannot be shown: %s", strerror(-ret)) : MZ_EXIT_OK;
}

const struct mz_cmd cmd_top = {
	.name = "top",
	.summary = "who allocates in the kernel now, live in the terminal",
	.opts = opts,
	.opts_size = sizeof(struct opts),
	.run = run,
};
