/* SPDX-License-Identifier: BSD-2-Clause */
/* What a verb consists of. */
/*
 * A verb is one file here with a struct mz_cmd, one row in verbs.def, one page in docs/man, one
 * script in tests/cli.
 */
#ifndef MZ_CMDS_CMD_H
#define MZ_CMDS_CMD_H

#include <memorizer.h>
#include <stdio.h>

#include "base/buf.h"
#include "trace/event.h"
#include "trace/stack_share.h"

enum mz_exit { MZ_EXIT_OK, MZ_EXIT_FAILED, MZ_EXIT_USAGE, MZ_EXIT_INCOMPLETE };

enum mz_opt_type {
	MZ_OPT_FLAG,   /* bool */
	MZ_OPT_STR,    /* const char * */
	MZ_OPT_U64,    /* uint64_t, decimal */
	MZ_OPT_SIZE,   /* uint64_t with K, M, G, T */
	MZ_OPT_CHOICE, /* unsigned: index into choices */
	MZ_OPT_OPTSTR, /* const char *: "" when the value is left out (--name[=VALUE]) */
	MZ_OPT_DOUBLE, /* double */
	MZ_OPT_LIST,   /* struct mz_opt_list: may be given more than once */
	MZ_OPT_LIMIT,  /* struct mz_opt_limit: uint64_t, and whether it was given */
	MZ_OPT_RANGE,  /* struct mz_time_range */
};

#define MZ_OPT_LIST_MAX 32
struct mz_opt_list {
	const char *value[MZ_OPT_LIST_MAX];
	unsigned n;
};

struct mz_opt_limit {
	bool given;
	uint64_t n;
};

/* A value that was once called something else, and is still accepted. */
struct mz_opt_old_word {
	const char *old, *word;
};

/* One option: --help, the manual page and the completion are made from it. */
struct mz_opt {
	char letter; /* 0 = none */
	const char *name;
	const char *arg; /* name of the value in the help; NULL = none */
	const char *help;
	enum mz_opt_type type;
	size_t offset;		    /* of the value in the verb's options */
	const char *const *choices; /* NULL-terminated; of a text: what completion offers */
	const char *alias;	    /* an older name, still accepted; NULL = none */
	char old_letter;	    /* the same of the letter; 0 = none */
	const struct mz_opt_old_word *old_words; /* of choices; ends with a word of NULL */
	unsigned scope; /* bits: where it makes sense (see mz_cmd); 0 = always */
};

struct mz_cmd {
	const char *name;
	const char *const *aliases; /* further names, as links; NULL-terminated */
	const char *args;	    /* "[INPUT|-]" */
	const char *summary;	    /* one line */
	const struct mz_opt *opts;  /* ends with a name of NULL */
	size_t opts_size;	    /* of the struct that they fill */
	/* A verb with several uses may have options for some of them only: these are the names
	 * of the bits of an option's scope ("with --kernel"); NULL-terminated. The verb's
	 * options then begin with a uint64_t of those that were given, by their place in the
	 * table. */
	const char *const *scopes;
	bool raw_tail;		  /* everything after "--" or the first argument is the
				     command to run, not options */
	const char *const *words; /* that the arguments may begin with, for completion; NULL = see
				     args */
	bool prints;		  /* text for people, with names in it: console_guard() */
	bool reads;		  /* recordings: it takes --allow-large, too */
	/* args: what is left of the command line; returns enum mz_exit. */
	int (*run)(void *opts, int argc, char **argv);
};

/* The verb of a file, from its `opts`, which fill a structure st, and its `run`; further members
 * may follow. */
#define MZ_CMD(id, verb, st, arguments, text, ...)                                                 \
	const struct mz_cmd cmd_##id = {.name = verb,                                              \
					.args = arguments,                                         \
					.summary = text,                                           \
					.opts = opts,                                              \
					.opts_size = sizeof(st),                                   \
					.run = run,                                                \
					##__VA_ARGS__}

#define MZ_OPT(l, n, a, t, st, m, h)                                                               \
	{                                                                                          \
		.letter = l, .name = n, .arg = a, .help = h, .type = t, .offset = offsetof(st, m)  \
	}

#define MZ_OPT_FOR(sc, l, n, a, t, st, m, h)                                                       \
	{                                                                                          \
		.letter = l, .name = n, .arg = a, .help = h, .type = t, .offset = offsetof(st, m), \
		.scope = sc                                                                        \
	}

/* Options without a value: the member is a bool. */
#define MZ_SWITCH(l, n, st, m, h)	  MZ_OPT(l, n, NULL, MZ_OPT_FLAG, st, m, h)
#define MZ_SWITCH_FOR(sc, l, n, st, m, h) MZ_OPT_FOR(sc, l, n, NULL, MZ_OPT_FLAG, st, m, h)

/* One of several words; the member is its number. */
#define MZ_OPT_ONE_OF(sc, n, a, st, m, c, h)                                                       \
	{                                                                                          \
		.name = n, .arg = a, .help = h, .type = MZ_OPT_CHOICE, .offset = offsetof(st, m),  \
		.choices = c, .scope = sc                                                          \
	}

/* A text for which completion offers these words; others may do. */
#define MZ_OPT_WORD_OF(sc, n, a, st, m, c, h)                                                      \
	{                                                                                          \
		.name = n, .arg = a, .help = h, .type = MZ_OPT_STR, .offset = offsetof(st, m),     \
		.choices = c, .scope = sc                                                          \
	}

/* Options that many verbs share, in the same words. */
#define MZ_OPT_OUTPUT(st, m)                                                                       \
	MZ_OPT('o', "output", "OUT", MZ_OPT_STR, st, m, "write to OUT (default: standard output)")
#define MZ_OPT_FORCE(st, m) MZ_SWITCH('f', "force", st, m, "replace an existing file")

/* when: in which cases the input is incomplete */
#define MZ_OPT_STRICT(st, m, when) MZ_SWITCH(0, "strict", st, m, "exit with 3 if " when)
/* what: where it applies, as a prefix; usual: the default in brackets; either may be "" */
#define MZ_OPT_CREDENTIALS(st, m, what, usual)                                                     \
	MZ_OPT(0, "credentials", "FILE", MZ_OPT_STR, st, m,                                        \
	       what "a file of mode 600 with the user and the password on two lines" usual)
#define MZ_OPT_JSON(st, m) MZ_SWITCH(0, "json", st, m, "print JSON")

/* How many rows: one name in all verbs. */
#define MZ_OPT_ROWS(sc, st, m, h)                                                                  \
	{                                                                                          \
		.name = "limit", .alias = "top", .arg = "N", .help = h, .type = MZ_OPT_LIMIT,      \
		.offset = offsetof(st, m), .scope = sc                                             \
	}

/* A part of a recording by time, in the same form in all verbs. */
#define MZ_OPT_TIME(sc, st, m)                                                                     \
	MZ_OPT_FOR(                                                                                \
		sc, 0, "time", "A,B", MZ_OPT_RANGE, st, m,                                         \
		"only events from A to B, in seconds after the start of the recording (0.5,2), "   \
		"or as 'memorizer cat' prints times (500ns,2000ns); without B, to the end")

/*
 * By which quantity a list is sorted, two recordings are compared, or a profile is weighed: one
 * name in all verbs, and one word for each quantity. former: what the verb used to call it, or
 * NULL.
 */
#define MZ_OPT_METRIC(sc, st, m, former, t, words, olds, h)                                        \
	{                                                                                          \
		.name = "metric", .alias = former, .arg = "METRIC", .help = h, .type = t,          \
		.offset = offsetof(st, m), .choices = words, .old_words = olds, .scope = sc        \
	}

/*
 * What rows are made of: a site is a function with its line, a function has its file only. olds:
 * older words, or NULL.
 */
#define MZ_OPT_BY(sc, st, m, t, words, olds, h)                                                    \
	{                                                                                          \
		.name = "by", .arg = "WHAT", .help = h, .type = t, .offset = offsetof(st, m),      \
		.choices = words, .old_words = olds, .scope = sc                                   \
	}

/* ---- talking to the user (console.c) --------------------------------------- */

/* The name that errors start with: "trace2cmt" or "memorizer record". */
void console_set(const char *name, bool json);
const char *console_name(void);

/* An error. Returns MZ_EXIT_FAILED, so that a verb can end with it. */
int console_error(const struct mz_error *err);
int console_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Wrong usage: says what is wrong and where to find help. Returns MZ_EXIT_USAGE. */
int console_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A line on standard error that is not an error. */
void console_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A name as a terminal may show it, in buf, cut to fit: mz_terminal_add(). Returns buf. */
char *console_text(char *buf, size_t size, const char *name);
/* As an argument of a command that the reader may copy into a shell, in buf, which it returns. */
char *console_argument(char *buf, size_t size, const char *name);
/* From here on, standard output passes through mz_terminal_add(), too. */
void console_guard(void);
/* Prints a buffer and frees it: 0, or -ENOMEM if the buffer is incomplete. Nothing is printed
 * then, and the verb fails. */
int console_put(struct mz_buf *b, FILE *out);
/* Was something not printed because memory ran out? */
bool console_no_memory(void);
/* The errno of a write to standard output that failed; 0 = none did, or it is not known. */
int console_write_error(void);

/* "1,234,567" into buf (at least 32 bytes); "1.2 MiB". Both return buf. */
char *console_count(char *buf, uint64_t v);
char *console_bytes(char *buf, uint64_t v);
/* "1 event was lost", "2,000 events were lost", in buf of 64 bytes. */
char *console_lost(char *buf, uint64_t events);
/* How complete the stacks of a recording are, in a few words. */
void console_stacks(FILE *out, const struct mz_stack_share *s);

/* ---- options (options.c) ------------------------------------------------ */

/* Fills opts from argv; *rest is the first remaining argument. Returns -1 to continue, otherwise
 * the exit status. */
int options_parse(const struct mz_cmd *cmd, void *opts, int argc, char **argv, int *rest);
/* The option --NAME is among the arguments, before they are parsed: not as the value of another
 * option, nor among the arguments of the program to record. */
bool options_has(const struct mz_cmd *cmd, int argc, char **argv, const char *name);
/* The options given must have this bit in their scope, or no scope. Returns -1 to continue,
 * otherwise the exit status. */
int options_check_scope(const struct mz_cmd *cmd, const void *opts, unsigned bit);
/* Whether an option of a verb with scopes was given: 0 may be its value. */
bool options_given(const struct mz_cmd *cmd, const void *opts, const char *name);
/* The limit, or what is usual; 0 = all. */
size_t options_limit(const struct mz_opt_limit *l, size_t usual);
/* The uses that a scope names: "with KMAPs or kernel traces". Returns buf. */
char *options_scope_text(const struct mz_cmd *cmd, unsigned scope, char *buf, size_t size);
/* Says that standard input is read, if that is a terminal because no recording was named. rest:
 * the arguments that are not options. */
void options_note_input(const struct mz_cmd *cmd, int rest);
void options_help(const struct mz_cmd *cmd, FILE *out);
/* --allow-large, which every verb that reads has: it is not in the tables of the verbs. */
extern const struct mz_opt options_large;
/* How this call of the program opens its inputs: enum mz_open_flags. */
unsigned options_open_flags(void);
/* The nearest of the names to a mistyped one; NULL = none is near. */
const char *options_nearest(const char *typed, const char *const *names, size_t n);

/* ---- the table (main.c) ------------------------------------------------- */

extern const struct mz_cmd *const mz_cmds[];
extern const size_t mz_cmds_count;
/* The verb of that name, which may be one of its other names; NULL = there is none. */
const struct mz_cmd *mz_cmd_find(const char *name);
/* Wrong usage: there is no such verb. Returns MZ_EXIT_USAGE. */
int mz_cmd_unknown(const char *verb);

#endif
