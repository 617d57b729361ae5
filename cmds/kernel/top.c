// SPDX-License-Identifier: BSD-2-Clause
/* Show the kernel's allocations live in the terminal. The BPF programs count by themselves (as
 * with kmemtraced --summary); this verb reads their counts. */
#include <curses.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cmds/cmd.h"
#include "record/kmem.h"
#include "symbols/kallsyms.h"

struct top_opts {
	double delay;
	bool caches;
	const char *filter;
	uint64_t pid, live_blocks;
};

static const struct mz_opt opts[] = {
	MZ_OPT('d', "delay", "SECONDS", MZ_OPT_DOUBLE, struct top_opts, delay,
	       "seconds between two updates (1)"),
	MZ_SWITCH('c', "caches", struct top_opts, caches, "show caches first, not call sites"),
	MZ_OPT(0, "filter", "TEXT", MZ_OPT_STR, struct top_opts, filter,
	       "only names that contain TEXT"),
	MZ_OPT('p', "pid", "PID", MZ_OPT_U64, struct top_opts, pid,
	       "only allocations of this process, and their frees by any process"),
	MZ_OPT(0, "live-blocks", "N", MZ_OPT_U64, struct top_opts, live_blocks,
	       "follow up to N blocks to their frees (default: as many as fit into 1/128 of the "
	       "memory)"),
	{0},
};

enum top_sort { BY_RATE, BY_BYTES, BY_WASTE, BY_LIVE, BY_TOTAL };

struct line {
	char name[160];
	uint64_t allocs, req, given, live, live_bytes; /* since the start */
	double rate, bytes;			       /* per second, since the last poll */
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
	enum top_sort sort;
	bool caches, paused;
	char filter[64];
	bool typing;
};

/* Set by signals; the loop checks it. */
static volatile sig_atomic_t ended;

static void on_signal(int sig)
{
	ended = sig;
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
		snprintf(buf, size, "(kmalloc)");
}

static void add_row(struct screen *s, const struct mz_kmem_row *r, const struct mz_kmem_row *was)
{
	char name[160];
	struct line *l = NULL;

	if (!is_alloc(r))
		return;
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
	l->allocs += r->count;
	l->req += r->req;
	l->given += r->given;
	l->live += r->live;
	l->live_bytes += r->live_bytes;
	l->rate += (double)(r->count - (was ? was->count : 0)) / s->seconds;
	l->bytes += (double)(r->given - (was ? was->given : 0)) / s->seconds;
}

static double weight(const struct line *l, enum top_sort sort)
{
	switch (sort) {
	case BY_BYTES: return l->bytes;
	case BY_WASTE: return (double)(l->given - l->req);
	case BY_LIVE: return (double)l->live_bytes;
	case BY_TOTAL: return (double)l->allocs;
	default: return l->rate;
	}
}

static int by_weight(const void *a, const void *b, void *arg)
{
	double x = weight(a, *(enum top_sort *)arg), y = weight(b, *(enum top_sort *)arg);

	return x > y   ? -1
	       : x < y ? 1
		       : strcmp(((const struct line *)a)->name, ((const struct line *)b)->name);
}

static bool look(struct screen *s)
{
	uint64_t now = mz_now_ns();
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

/* A line of the screen, cut at its edge and never wrapped. Names of caches and symbols, and the
 * filter, may contain anything: control characters are escaped. */
__attribute__((format(printf, 2, 3))) static void put_line(int y, const char *fmt, ...)
{
	char text[512], shown[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	mvaddnstr(y, 0, console_text(shown, sizeof(shown), text), COLS);
}

static void draw_head(const struct screen *s)
{
	static const char *const sorts[] = {"rate", "bytes", "waste", "live", "total"};
	struct mz_kmem_counts n;
	char a[32], b[32];

	mz_kmem_counts(s->k, &n);
	put_line(0, "memorizer top - %s by %s%s%s%s  lost %s  own %s left out",
		 s->caches ? "caches" : "call sites", sorts[s->sort], s->paused ? " - PAUSED" : "",
		 s->filter[0] || s->typing ? "  filter: " : "", s->filter,
		 console_count(a, mz_kmem_lost(&n) + n.other), console_count(b, n.own));
	if (n.unfollowed)
		put_line(1,
			 "live: since top began, at least; %s blocks not followed; %s frees not "
			 "seen",
			 console_count(a, n.unfollowed), console_count(b, n.reused));
	else
		put_line(1, "live: since top began; %s frees not seen", console_count(b, n.reused));
	attron(A_REVERSE);
	put_line(2, "%8s %10s %9s %6s %8s %10s  %-*s", "allocs/s", "bytes/s", "allocs", "waste",
		 "blocks", "live", COLS, s->caches ? "cache" : "call site");
	attroff(A_REVERSE);
}

static void draw_line(int y, const struct line *l)
{
	char bytes[32], live[32];

	put_line(y, "%8.0f %10s %9" PRIu64 " %5.1f%% %8" PRIu64 " %10s  %s", l->rate,
		 console_bytes(bytes, (uint64_t)l->bytes), l->allocs,
		 l->given ? 100.0 * (double)(l->given - l->req) / (double)l->given : 0.0, l->live,
		 console_bytes(live, l->live_bytes), l->name);
}

static void draw(struct screen *s)
{
	erase();
	draw_head(s);
	for (size_t i = 0; i < s->nlines && (int)i < LINES - 4; i++)
		draw_line((int)i + 3, &s->lines[i]);
	if (s->typing)
		put_line(LINES - 1, "type a part of a name, then press Enter");
	else
		put_line(LINES - 1,
			 "q quit  c %s  r rate  b bytes  w waste  l live  t total  p pause  / "
			 "filter",
			 s->caches ? "sites" : "caches");
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

/* false: the user wants to quit. */
static bool obey(struct screen *s, int key)
{
	static const char keys[] = "rbwlt";
	const char *found;

	if (s->typing) {
		type(s, key);
		return true;
	}
	found = key > 0 && key < 128 ? strchr(keys, key) : NULL;
	if (found && *found)
		s->sort = (enum top_sort)(found - keys);
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

		if (!s->paused && mz_now_ns() >= next) {
			if (!look(s))
				return -ENOMEM;
			next = mz_now_ns() + (uint64_t)(delay * 1e9);
		}
		draw(s);
		timeout(100);
		key = getch();
		if (key != ERR)
			on = obey(s, key);
		if (key != ERR && key != KEY_RESIZE && !s->paused)
			next = mz_now_ns() < next - (uint64_t)(delay * 1e9) + 200000000u ? next : 0;
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
	const struct top_opts *o = options;
	struct mz_kmem_options k = {
		.groups = MZ_KMEM_SLAB,
		.summary = true,
		.pid = (uint32_t)o->pid,
		.live_blocks = o->live_blocks ? (uint32_t)o->live_blocks : mz_kmem_live_default(),
	};
	struct screen s = {.caches = o->caches};
	struct mz_error err = {0};
	int ret = 0;

	if (argc)
		return console_usage("top takes no arguments; '%s' is one too many", argv[0]);
	if (o->delay < 0 || (o->delay > 0 && o->delay < 0.1))
		return console_usage("--delay: at least 0.1 seconds");
	if (o->live_blocks > MZ_KMEM_LIVE_MOST)
		return console_usage("--live-blocks: at most %u", MZ_KMEM_LIVE_MOST);
	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		return console_fail("standard output is not a terminal; for a pipe use: kmemtraced "
				    "--summary --duration 10");
	if (o->filter)
		snprintf(s.filter, sizeof(s.filter), "%s", o->filter);
	s.k = mz_kmem_load(&k, &err);
	if (!s.k)
		return console_error(&err);
	s.syms = mz_kallsyms_load("/proc/kallsyms", NULL);
	catch_signals();
	if (mz_kmem_attach(s.k, &err) < 0) {
		mz_kmem_free(s.k);
		mz_kallsyms_free(s.syms);
		return console_error(&err);
	}
	s.at = mz_now_ns();
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
	return ret < 0 ? console_fail("the screen cannot be shown: %s", strerror(-ret))
		       : MZ_EXIT_OK;
}

MZ_CMD(top, "top", struct top_opts, NULL, "show the kernel's allocations live in the terminal");
