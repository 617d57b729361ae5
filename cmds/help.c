// SPDX-License-Identifier: BSD-2-Clause
/* List the verbs or show the help of one; generate OPTIONS sections and shell completion from the
 * option tables. */
#include <string.h>

#include "cmds/cmd.h"

struct opts {
	bool links;
	bool completion;
	const char *man;
};

static const struct mz_opt opts[] = {
	MZ_SWITCH(0, "links", struct opts, links,
		  "print the other names of this program, for links"),
	MZ_SWITCH(0, "completion", struct opts, completion, "print the completion script for bash"),
	MZ_OPT(0, "man", "VERB", MZ_OPT_STR, struct opts, man,
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
	printf(".PP\nOptions that work ");
	roff(options_scope_text(cmd, o->scope, where, sizeof(where)));
	printf(" only:\n");
}

static void man_alias(const char *alias)
{
	printf("(\\-\\-");
	roff(alias);
	printf(" is the same.)\n");
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
	if (o->alias)
		man_alias(o->alias);
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

static void completion(void)
{
	puts("# bash completion for memorizer; generated from its option tables\n"
	     "_memorizer_options() {\n\tcase $1 in");
	for (size_t i = 0; i < mz_cmds_count; i++) {
		printf("\t%s", mz_cmds[i]->name);
		for (const char *const *a = mz_cmds[i]->aliases; a && *a; a++)
			if (strcmp(*a, mz_cmds[i]->name))
				printf("|%s", *a);
		printf(") echo \"--help");
		for (const struct mz_opt *o = mz_cmds[i]->opts; o && o->name; o++)
			printf(" --%s", o->name);
		puts(mz_cmds[i]->reads ? " --allow-large\" ;;" : "\" ;;");
	}
	puts("\tesac\n}\n"
	     "_memorizer() {\n"
	     "\tlocal word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[0]##*/}\n"
	     "\tif [ \"$verb\" = memorizer ]; then\n"
	     "\t\tverb=${COMP_WORDS[1]}\n"
	     "\t\tif [ \"$COMP_CWORD\" -eq 1 ]; then");
	printf("\t\t\tCOMPREPLY=($(compgen -W \"");
	for (size_t i = 0; i < mz_cmds_count; i++)
		printf("%s%s", i ? " " : "", mz_cmds[i]->name);
	puts("\" -- \"$word\"))\n"
	     "\t\t\treturn\n\t\tfi\n\tfi\n"
	     "\tcase $word in\n"
	     "\t-*) COMPREPLY=($(compgen -W \"$(_memorizer_options \"$verb\")\" -- \"$word\")) ;;\n"
	     "\t*) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
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
	struct opts *o = options;

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

MZ_CMD(help, "help", struct opts, "[VERB]", "list the verbs by task, or show the options of one");
