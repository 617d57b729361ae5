// SPDX-License-Identifier: BSD-2-Clause
/* Parse the command line by a verb's option table and print its --help. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmds/cmd.h"

const struct mz_opt options_large = {
	.name = "allow-large",
	.type = MZ_OPT_FLAG,
	.help = "read an input even if it needs far more memory than its size justifies",
};

static bool allow_large;

unsigned options_open_flags(void)
{
	return allow_large ? MZ_OPEN_LARGE : 0;
}

static unsigned distance(const char *a, const char *b)
{
	unsigned row[64];
	size_t m = strlen(b);

	if (m >= 63)
		return 99;
	for (size_t j = 0; j <= m; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; *a; a++, i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			unsigned best = diagonal + (*a != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[m];
}

const char *options_nearest(const char *typed, const char *const *names, size_t n)
{
	const char *best = NULL;
	unsigned near = 3;

	for (size_t i = 0; i < n; i++) {
		unsigned d = distance(typed, names[i]);

		if (d < near && d < strlen(names[i])) {
			near = d;
			best = names[i];
		}
	}
	return best;
}

static int parse_u64(const char *s, bool units, uint64_t *out)
{
	char *end;
	unsigned long long v;

	if (*s < '0' || *s > '9')
		return -EINVAL;
	errno = 0;
	v = strtoull(s, &end, 10);
	if (errno)
		return -errno;
	if (units && *end) {
		const char *at = strchr("KMGT", *end & ~0x20);
		unsigned shift = at ? (unsigned)(at - "KMGT" + 1) * 10 : 0;

		if (!at || end[1] || v > UINT64_MAX >> shift)
			return -EINVAL;
		v <<= shift;
		end++;
	}
	*out = v;
	return *end ? -EINVAL : 0;
}

static int parse_choice(const struct mz_opt *o, const char *value, unsigned *out)
{
	for (unsigned i = 0; o->choices[i]; i++) {
		if (!strcmp(o->choices[i], value)) {
			*out = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int bad_value(const struct mz_opt *o, const char *value)
{
	if (o->type == MZ_OPT_CHOICE) {
		char list[256] = "";

		for (unsigned i = 0; o->choices[i]; i++) {
			size_t n = strlen(list);

			snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", o->choices[i]);
		}
		return console_usage("--%s takes one of: %s; not '%s'", o->name, list, value);
	}
	if (o->type == MZ_OPT_RANGE)
		return console_usage("--%s takes A,B in seconds after the start, or in ns by the "
				     "clock (500ns,2000ns), where A is before B; not '%s'",
				     o->name, value);
	return console_usage("--%s takes a number%s, not '%s'", o->name,
			     o->type == MZ_OPT_SIZE ? " (with K, M, G or T)" : "", value);
}

/* -1 = fine, else the exit status. */
static int add_value(const struct mz_opt *o, struct mz_opt_list *list, const char *value)
{
	if (list->n == MZ_OPT_LIST_MAX)
		return console_usage("--%s is given more than %d times", o->name, MZ_OPT_LIST_MAX);
	list->value[list->n++] = value;
	return -1;
}

static int set_limit(const char *value, struct mz_opt_limit *l)
{
	l->given = true;
	return parse_u64(value, false, &l->n);
}

/* "1.5": seconds after the start; "1500ns": by the clock of the recording, exactly. */
static int parse_moment(const char *text, size_t len, uint64_t *ns, bool *by_clock)
{
	char number[32], *end;
	double seconds;

	*by_clock = len > 2 && !memcmp(text + len - 2, "ns", 2);
	len -= *by_clock ? 2 : 0;
	if (!len)
		return 0;
	if (len >= sizeof(number))
		return -EINVAL;
	memcpy(number, text, len);
	number[len] = '\0';
	if (*by_clock)
		return parse_u64(number, false, ns);
	seconds = strtod(number, &end);
	if (*end || !(seconds >= 0 && seconds < 1e10))
		return -EINVAL;
	*ns = (uint64_t)llrint(seconds * 1e9);
	return 0;
}

/* "A,B", where each may be left out. */
static int parse_range(const char *value, struct mz_time_range *r)
{
	size_t len = strcspn(value, ",");
	const char *to = value + len + (value[len] == ',');

	*r = (struct mz_time_range){0};
	if (!*value || parse_moment(value, len, &r->from, &r->from_clock) < 0 ||
	    parse_moment(to, strlen(to), &r->to, &r->to_clock) < 0)
		return -EINVAL;
	return r->to && r->from_clock == r->to_clock && r->to < r->from ? -EINVAL : 0;
}

/* Records which options were given, for a verb with scopes. */
static void note_given(const struct mz_cmd *cmd, const struct mz_opt *o, void *opts)
{
	if (cmd->scopes)
		*(uint64_t *)opts |= UINT64_C(1) << (o - cmd->opts);
}

/* The word of today. */
static const char *word_of(const struct mz_opt *o, const char *value)
{
	for (const struct mz_opt_old_word *w = o->old_words; w && w->old; w++)
		if (!strcmp(w->old, value))
			return w->word;
	return value;
}

/* -1 = fine, else the exit status. */
static int set_value(const struct mz_cmd *cmd, const struct mz_opt *o, void *opts,
		     const char *value)
{
	char *at = (char *)opts + o->offset;
	char *end;
	int ret = 0;

	note_given(cmd, o, opts);
	value = word_of(o, value);
	switch (o->type) {
	case MZ_OPT_FLAG: *(bool *)at = true; break;
	case MZ_OPT_OPTSTR:
	case MZ_OPT_STR: memcpy(at, &value, sizeof(value)); break;
	case MZ_OPT_LIST: return add_value(o, (struct mz_opt_list *)(void *)at, value);
	case MZ_OPT_LIMIT: ret = set_limit(value, (struct mz_opt_limit *)(void *)at); break;
	case MZ_OPT_RANGE: ret = parse_range(value, (struct mz_time_range *)(void *)at); break;
	case MZ_OPT_U64: ret = parse_u64(value, false, (uint64_t *)(void *)at); break;
	case MZ_OPT_SIZE: ret = parse_u64(value, true, (uint64_t *)(void *)at); break;
	case MZ_OPT_CHOICE: ret = parse_choice(o, value, (unsigned *)(void *)at); break;
	case MZ_OPT_DOUBLE:
		*(double *)(void *)at = strtod(value, &end);
		if (end == value || *end || !isfinite(*(double *)(void *)at) || *value == '-')
			ret = -EINVAL;
		break;
	}
	return ret ? bad_value(o, value) : -1;
}

static const struct mz_opt *find_long(const struct mz_cmd *cmd, const char *name, size_t len)
{
	for (const struct mz_opt *o = cmd->opts; o && o->name; o++)
		if ((strlen(o->name) == len && !memcmp(o->name, name, len)) ||
		    (o->alias && strlen(o->alias) == len && !memcmp(o->alias, name, len)))
			return o;
	return NULL;
}

static const struct mz_opt *find_letter(const struct mz_cmd *cmd, char letter)
{
	for (const struct mz_opt *o = cmd->opts; o && o->name; o++)
		if (letter == o->letter || letter == o->old_letter)
			return o;
	return NULL;
}

static bool takes_value(const struct mz_opt *o)
{
	return o && o->type != MZ_OPT_FLAG && o->type != MZ_OPT_OPTSTR;
}

static int unknown_option(const struct mz_cmd *cmd, const char *name)
{
	const char *names[64];
	const char *near;
	size_t n = 0;

	for (const struct mz_opt *o = cmd->opts; o && o->name && n < 64; o++)
		names[n++] = o->name;
	if (cmd->reads && n < 64)
		names[n++] = options_large.name;
	near = options_nearest(name, names, n);
	if (near)
		return console_usage("unknown option --%s; did you mean --%s?", name, near);
	return console_usage("unknown option --%s", name);
}

static int parse_long(const struct mz_cmd *cmd, void *opts, int argc, char **argv, int *i)
{
	const char *name = argv[*i] + 2;
	const char *eq = strchr(name, '=');
	size_t len = eq ? (size_t)(eq - name) : strlen(name);
	const struct mz_opt *o = find_long(cmd, name, len);

	/* any verb takes --json: its errors are JSON then (console.c) */
	if (!o && !strcmp(name, "json"))
		return -1;
	if (cmd->reads && !strcmp(name, options_large.name)) {
		allow_large = true;
		return -1;
	}
	if (!o) {
		char typed[64];

		snprintf(typed, sizeof(typed), "%.*s", (int)len, name);
		return unknown_option(cmd, typed);
	}
	if (!takes_value(o)) {
		if (eq && o->type == MZ_OPT_FLAG)
			return console_usage("--%s takes no value", o->name);
		return set_value(cmd, o, opts, eq ? eq + 1 : "");
	}
	if (eq)
		return set_value(cmd, o, opts, eq + 1);
	if (*i + 1 >= argc)
		return console_usage("--%s needs a value: %s", o->name, o->arg);
	return set_value(cmd, o, opts, argv[++*i]);
}

static int parse_letters(const struct mz_cmd *cmd, void *opts, int argc, char **argv, int *i)
{
	for (const char *p = argv[*i] + 1; *p; p++) {
		const struct mz_opt *o = find_letter(cmd, *p);
		int ret;

		if (!o)
			return console_usage("unknown option -%c", *p);
		if (!takes_value(o)) {
			ret = set_value(cmd, o, opts, "");
			if (ret >= 0)
				return ret;
			continue;
		}
		if (p[1])
			return set_value(cmd, o, opts, p + 1);
		if (*i + 1 >= argc)
			return console_usage("-%c needs a value: %s", *p, o->arg);
		return set_value(cmd, o, opts, argv[++*i]);
	}
	return -1;
}

/* The option of an argument whose value is the next argument. */
static bool value_follows(const struct mz_cmd *cmd, const char *arg)
{
	if (!strncmp(arg, "--", 2))
		return takes_value(find_long(cmd, arg + 2, strlen(arg + 2)));
	for (const char *p = arg + 1; *p; p++)
		if (takes_value(find_letter(cmd, *p)))
			return !p[1];
	return false;
}

bool options_has(const struct mz_cmd *cmd, int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		bool option = argv[i][0] == '-' && argv[i][1];

		if (!option && cmd->raw_tail)
			return false;
		if (!strncmp(argv[i], "--", 2) && !strcmp(argv[i] + 2, name))
			return true;
		i += option && value_follows(cmd, argv[i]);
	}
	return false;
}

int options_parse(const struct mz_cmd *cmd, void *opts, int argc, char **argv, int *rest)
{
	int kept = 1; /* arguments that are not options are moved to the front */

	for (int i = 1; i < argc; i++) {
		int ret = -1;

		if (!strcmp(argv[i], "--")) {
			for (i++; i < argc; i++)
				argv[kept++] = argv[i];
			break;
		}
		if (!strcmp(argv[i], "--help") ||
		    (!strcmp(argv[i], "-h") && !find_letter(cmd, 'h'))) {
			options_help(cmd, stdout);
			return MZ_EXIT_OK;
		}
		if (!strncmp(argv[i], "--", 2)) {
			ret = parse_long(cmd, opts, argc, argv, &i);
		} else if (argv[i][0] == '-' && argv[i][1]) {
			ret = parse_letters(cmd, opts, argc, argv, &i);
		} else if (cmd->raw_tail) {
			while (i < argc)
				argv[kept++] = argv[i++];
		} else {
			argv[kept++] = argv[i];
		}
		if (ret >= 0)
			return ret;
	}
	argv[kept] = NULL; /* so that they can be run as a command */
	*rest = kept;
	return -1;
}

size_t options_limit(const struct mz_opt_limit *l, size_t usual)
{
	return l->given ? (size_t)l->n : usual;
}

bool options_given(const struct mz_cmd *cmd, const void *opts, const char *name)
{
	const struct mz_opt *o = find_long(cmd, name, strlen(name));

	return *(const uint64_t *)opts >> (o - cmd->opts) & 1;
}

char *options_scope_text(const struct mz_cmd *cmd, unsigned scope, char *buf, size_t size)
{
	size_t n = 0;

	*buf = '\0';
	for (unsigned i = 0; cmd->scopes[i]; i++) {
		const char *name = cmd->scopes[i];
		bool last = !(scope >> (i + 1));

		if (!(scope >> i & 1) || n >= size)
			continue;
		/* "with a, b or c": the preposition occurs once */
		if (n && !strncmp(name, "with ", 5))
			name += 5;
		n += (size_t)snprintf(buf + n, size - n, "%s%s",
				      !n     ? ""
				      : last ? " or "
					     : ", ",
				      name);
	}
	return buf;
}

int options_check_scope(const struct mz_cmd *cmd, const void *opts, unsigned bit)
{
	uint64_t given = *(const uint64_t *)opts;
	char where[128];

	for (const struct mz_opt *o = cmd->opts; o->name; o++)
		if (given >> (o - cmd->opts) & 1 && o->scope && !(o->scope >> bit & 1))
			return console_usage(
				"--%s works only %s", o->name,
				options_scope_text(cmd, o->scope, where, sizeof(where)));
	return -1;
}

static void print_option(const struct mz_opt *o, FILE *out)
{
	char left[64];
	int n;

	if (o->letter)
		n = snprintf(left, sizeof(left), "  -%c, --%s", o->letter, o->name);
	else
		n = snprintf(left, sizeof(left), "      --%s", o->name);
	if (o->arg)
		snprintf(left + n, sizeof(left) - (size_t)n,
			 o->type == MZ_OPT_OPTSTR ? "[=%s]" : " %s", o->arg);
	fprintf(out, strlen(left) < 30 ? "%-30s%s\n" : "%s\n                              %s\n",
		left, o->help);
}

void options_note_input(const struct mz_cmd *cmd, int rest)
{
	const char *input = cmd->args ? strstr(cmd->args, "|-") : NULL;

	/* "[INPUT|-]", and "QUESTION [KMAP|-]" with a question */
	if (!input || !memchr(cmd->args, '[', (size_t)(input - cmd->args)))
		return;
	if (rest == (*cmd->args != '[' && *cmd->args != '-') && isatty(STDIN_FILENO))
		console_note("no recording is named: reading standard input (Ctrl-D ends it)");
}

void options_help(const struct mz_cmd *cmd, FILE *out)
{
	unsigned scope = 0;
	char where[128];

	fprintf(out, "usage: memorizer %s [OPTIONS]%s%s\n\n%s\n", cmd->name,
		cmd->args && *cmd->args ? " " : "", cmd->args ? cmd->args : "", cmd->summary);
	if (cmd->opts && cmd->opts->name)
		fprintf(out, "\nOptions:\n");
	for (const struct mz_opt *o = cmd->opts; o && o->name; o++) {
		if (o->scope != scope)
			fprintf(out, "\nOptions that work only %s:\n",
				options_scope_text(cmd, o->scope, where, sizeof(where)));
		scope = o->scope;
		print_option(o, out);
	}
	if (scope) /* what follows belongs to no scope */
		fprintf(out, "\nOptions that always work:\n");
	if (cmd->reads)
		print_option(&options_large, out);
	fprintf(out, "      --help                  show this help\n\nManual: man memorizer-%s\n",
		cmd->name);
}
