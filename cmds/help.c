// SPDX-License-Identifier: BSD-2-Clause
/* List the verbs or show the help of one; generate OPTIONS sections and shell completion from the
 * option tables. */
#include <string.h>

#include "cmds/cmd.h"

struct help_opts {
	bool links;
	bool completion;
	const char *man;
};

static const struct mz_opt opts[] = {
	MZ_SWITCH(0, "links", struct help_opts, links,
		  "print the other names of this program, for links"),
	MZ_SWITCH(0, "completion", struct help_opts, completion,
		  "print the completion script for bash"),
	MZ_OPT(0, "man", "VERB", MZ_OPT_STR, struct help_opts, man,
	       "print the OPTIONS section of VERB's manual page"),
	{0},
};

#define GROUP(title)
#define VERB(name) extern const struct mz_cmd cmd_##name;
#include "cmds/verbs.def"
#undef VERB
#undef GROUP

/* A row is the title of a group, or a verb of the group above it. */
static const struct {
	const char *group;
	const struct mz_cmd *cmd;
} rows[] = {
#define GROUP(title) {.group = title},
#define VERB(name)   {.cmd = &cmd_##name},
#include "cmds/verbs.def"
#undef VERB
#undef GROUP
};

static void list(void)
{
	puts("usage: memorizer VERB [OPTIONS] [ARGUMENTS]");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].group)
			printf("\n%s:\n", rows[i].group);
		else
			printf("  %-20s%s\n", rows[i].cmd->name, rows[i].cmd->summary);
	puts("\n'memorizer help VERB' or 'memorizer VERB --help' shows the options of a verb.");
}

static void print_links(void)
{
	for (size_t i = 0; i < mz_cmds_count; i++)
		for (const char *const *a = mz_cmds[i]->aliases; a && *a; a++)
			puts(*a);
}

static void roff(const char *s)
{
	for (; *s; s++)
		fputs(*s == '-' ? "\\-" : *s == '\\' ? "\\e" : (char[]){*s, 0}, stdout);
}

/* A heading where the options for some uses of a verb begin. */
static void man_scope(const struct mz_cmd *cmd, const struct mz_opt *o)
{
	char where[128];

	if (!o->scope || (o > cmd->opts && o[-1].scope == o->scope))
		return;
	printf(".PP\nOptions that work only ");
	roff(options_scope_text(cmd, o->scope, where, sizeof(where)));
	printf(":\n");
}

/* What is still accepted. */
static void man_old(const struct mz_opt *o)
{
	if (o->alias) {
		printf("(Older name: \\-\\-");
		roff(o->alias);
		printf(".)\n");
	}
	if (o->old_letter)
		printf("(Older letter: \\-%c.)\n", o->old_letter);
	for (const struct mz_opt_old_word *w = o->old_words; w && w->old; w++)
		printf("%s%s for %s%s", w == o->old_words ? "(Older words: " : "", w->old, w->word,
		       w[1].old ? ", " : ".)\n");
}

static void man_option(const struct mz_opt *o)
{
	printf(".TP\n");
	if (o->letter)
		printf("\\fB\\-%c\\fR, ", o->letter);
	printf("\\fB\\-\\-");
	roff(o->name);
	printf("\\fR");
	if (o->arg) {
		printf(o->type == MZ_OPT_OPTSTR ? "[=\\fI" : " \\fI");
		roff(o->arg);
		printf(o->type == MZ_OPT_OPTSTR ? "\\fR]" : "\\fR");
	}
	printf("\n");
	roff(o->help);
	printf("\n");
	man_old(o);
}

static int man_options(const char *verb)
{
	const struct mz_cmd *cmd = mz_cmd_find(verb);
	unsigned scope = 0;

	if (!cmd)
		return mz_cmd_unknown(verb);
	for (const struct mz_opt *o = cmd->opts; o && o->name; o++) {
		man_scope(cmd, o);
		man_option(o);
		scope = o->scope;
	}
	if (scope)
		printf(".PP\nOptions that always work:\n");
	if (cmd->reads)
		man_option(&options_large);
	printf(".TP\n\\fB\\-\\-help\\fR\nshow the options\n");
	return MZ_EXIT_OK;
}

/* What a use of a verb is called on the command line: "--kernel" of "with --kernel", "top" of "with
 * top". NULL: a kind of recording, which only the recording shows. */
static const char *scope_word(const char *scope, bool *without)
{
	*without = !strncmp(scope, "without ", 8);
	if (!*without && strncmp(scope, "with ", 5))
		return NULL;
	scope += *without ? 8 : 5;
	return strchr(scope, ' ') || (*scope >= 'A' && *scope <= 'Z') || !strcmp(scope, "anything")
		       ? NULL
		       : scope;
}

/* The condition under which options of a scope are offered. */
static void completion_scope(const struct mz_cmd *cmd, unsigned scope)
{
	bool without = false;
	const char *word = scope ? scope_word(cmd->scopes[0], &without) : NULL;

	if (!word)
		return;
	if (*word == '-') { /* one option makes two uses */
		printf("%s_memorizer_has %s && ", !!without == (scope & 1) ? "! " : "", word);
		return;
	}
	printf("_memorizer_has");
	for (unsigned i = 0; cmd->scopes[i]; i++)
		if (scope >> i & 1)
			printf(" %s", scope_word(cmd->scopes[i], &without));
	printf(" && ");
}

static void completion_case(const struct mz_cmd *cmd)
{
	printf("\t%s", cmd->name);
	for (const char *const *a = cmd->aliases; a && *a; a++)
		if (strcmp(*a, cmd->name))
			printf("|%s", *a);
	printf(") ");
}

static void completion_options(const struct mz_cmd *cmd)
{
	unsigned scope = 0;

	completion_case(cmd);
	printf("echo \"--help%s", cmd->reads ? " --allow-large" : "");
	for (const struct mz_opt *o = cmd->opts; o && o->name; o++) {
		if (o->scope != scope) {
			printf("\"; ");
			completion_scope(cmd, o->scope);
			printf("echo \"");
		}
		scope = o->scope;
		printf(" --%s", o->name);
	}
	puts("\" ;;");
}

/* "a|b STORE [X...]", "a [X] | b Y": the words that the arguments may begin with. */
static void first_words(const char *args)
{
	while (args && *args >= 'a' && *args <= 'z') {
		size_t n = strspn(args, "abcdefghijklmnopqrstuvwxyz-");

		if (args[n] && !strchr(" |", args[n])) /* "http://HOST" */
			return;
		printf(" %.*s", (int)n, args);
		args = strchr(args + n, '|');
		args += args != NULL;
		args += args ? strspn(args, " ") : 0;
	}
}

static void words_of(const char *const *words)
{
	for (; words && *words; words++)
		printf(" %s", *words);
}

static void all_verbs(void)
{
	for (size_t i = 0; i < mz_cmds_count; i++)
		printf(" %s", mz_cmds[i]->name);
}

static void completion_words(const struct mz_cmd *cmd)
{
	completion_case(cmd);
	printf("case $2 in ");
	for (const struct mz_opt *o = cmd->opts; o && o->name; o++) {
		if (!o->choices)
			continue;
		printf("--%s%s%s) echo", o->name, o->alias ? "|--" : "", o->alias ? o->alias : "");
		words_of(o->choices);
		printf(" ;; ");
	}
	printf("first) echo");
	first_words(cmd->args);
	words_of(cmd->words);
	if (cmd->args && !strcmp(cmd->args, "[VERB]"))
		all_verbs();
	puts(" ;; esac ;;");
}

static void completion(void)
{
	puts("# bash completion for memorizer; generated from its option tables\n"
	     "_memorizer_has() {\n"
	     "\tlocal typed wanted\n"
	     "\tfor typed in \"${COMP_WORDS[@]}\"; do\n"
	     "\t\tfor wanted; do [ \"$typed\" = \"$wanted\" ] && return 0; done\n"
	     "\tdone\n"
	     "\treturn 1\n}\n"
	     "_memorizer_options() {\n\tcase $1 in");
	for (size_t i = 0; i < mz_cmds_count; i++)
		completion_options(mz_cmds[i]);
	puts("\tesac\n}\n"
	     "# VERB OPTION: its values; VERB first: what the arguments begin with\n"
	     "_memorizer_words() {\n\tcase $1 in");
	for (size_t i = 0; i < mz_cmds_count; i++)
		completion_words(mz_cmds[i]);
	puts("\tesac\n}\n"
	     "_memorizer() {\n"
	     "\tlocal word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[0]##*/} first=1 words\n"
	     "\tif [ \"$verb\" = memorizer ]; then\n"
	     "\t\tverb=${COMP_WORDS[1]} first=2\n"
	     "\t\tif [ \"$COMP_CWORD\" -eq 1 ]; then");
	printf("\t\t\tCOMPREPLY=($(compgen -W \"");
	all_verbs();
	puts("\" -- \"$word\"))\n"
	     "\t\t\treturn\n\t\tfi\n\tfi\n"
	     "\tCOMPREPLY=()\n"
	     "\tcase ${COMP_WORDS[COMP_CWORD-1]} in\n"
	     "\t--*) words=$(_memorizer_words \"$verb\" \"${COMP_WORDS[COMP_CWORD-1]}\") ;;\n"
	     "\t*) [ \"$COMP_CWORD\" -eq $first ] && words=$(_memorizer_words \"$verb\" first) ;;\n"
	     "\tesac\n"
	     "\tcase $word in\n"
	     "\t-*) COMPREPLY=($(compgen -W \"$(_memorizer_options \"$verb\")\" -- \"$word\")) ;;\n"
	     "\t*) [ -n \"$words\" ] && COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ||\n"
	     "\t\tCOMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
	     "\tesac\n}");
	printf("complete -o filenames -F _memorizer memorizer");
	for (size_t i = 0; i < mz_cmds_count; i++)
		for (const char *const *a = mz_cmds[i]->aliases; a && *a; a++)
			printf(" %s", *a);
	puts("");
}

static int show_verb(const char *verb)
{
	const struct mz_cmd *cmd = mz_cmd_find(verb);

	if (!cmd)
		return mz_cmd_unknown(verb);
	options_help(cmd, stdout);
	return MZ_EXIT_OK;
}

static int run(void *options, int argc, char **argv)
{
	struct help_opts *o = options;

	if (argc > 1)
		return console_usage("help takes one verb at a time");
	if (argc)
		return show_verb(argv[0]);
	if (o->man)
		return man_options(o->man);
	if (o->links)
		print_links();
	else if (o->completion)
		completion();
	else
		list();
	return MZ_EXIT_OK;
}

MZ_CMD(help, "help", struct help_opts, "[VERB]",
       "list the verbs by task, or show the options of one");
