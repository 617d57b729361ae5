// SPDX-License-Identifier: GPL-2.0
/*
 * global_table: one line per global variable of the kernel and its modules,
 *
 *   address size name source
 *
 * and an empty line at the end, as upstream writes it. The kernel does not know
 * its source files: in their place is a dash, or the module in brackets.
 */
#include <linux/fs.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "memorizer.h"
#include "seq.h"

/* The position in an open file. The empty line follows the last variable. */
struct place {
	const struct memorizer_span *span;	/* NULL: the empty line */
	const char *module;
	char name[KSYM_NAME_LEN];
};

/* Line @pos: the image, the modules in their order, the empty line. */
static void *globals_at(struct place *at, u64 pos)
{
	const struct memorizer_region *image = memorizer_image();

	at->module = NULL;
	if (pos < image->nr) {
		at->span = &image->spans[pos];
		return at;
	}
	pos -= image->nr;
	at->span = memorizer_module_span(&pos, &at->module);
	return at->span || !pos ? at : NULL;
}

/* From here to the end of the read, no module is loaded or unloaded. */
static void *globals_start(struct seq_file *m, loff_t *pos)
{
	memorizer_modules_lock();
	return globals_at(m->private, *pos);
}

static void *globals_next(struct seq_file *m, void *v, loff_t *pos)
{
	return globals_at(m->private, ++*pos);
}

static void globals_stop(struct seq_file *m, void *v)
{
	memorizer_modules_unlock();
}

static int globals_show(struct seq_file *m, void *v)
{
	unsigned long size, offset;
	struct place *at = v;
	const char *name;
	char *module;

	if (!at->span) {
		seq_putc(m, '\n');
		return 0;
	}
	/* a mark of the linker script, or gone since */
	if (!at->span->size)
		return SEQ_SKIP;
	name = kallsyms_lookup(at->span->va, &size, &offset, &module, at->name);
	seq_printf(m, "%016lx %lu %s ", at->span->va, at->span->size, name ?: "?");
	if (at->module)
		seq_printf(m, "[%s]\n", at->module);
	else
		seq_puts(m, "-\n");
	return 0;
}

static const struct seq_operations globals_ops = {
	.start = globals_start,
	.next = globals_next,
	.stop = globals_stop,
	.show = globals_show,
};

MEMORIZER_SEQ_FILE(memorizer_globals_fops, globals_ops, sizeof(struct place));
