// SPDX-License-Identifier: GPL-2.0
/*
 * module_symbols: the symbols of module code and data that no longer exists, in
 * the form of /proc/kallsyms: of unloaded modules, and of what was only needed to
 * load a module. Records keep its addresses, and nothing else can name them.
 *
 * Addresses of modules are not used again while there are others, see
 * memorizer_code_start(), so that a name is right for all of a record. When the
 * addresses begin anew, a symbol goes where a new module comes.
 */
#include <linux/ctype.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "memorizer.h"
#include "seq.h"

/* One symbol; the next follows at once. */
struct gone_symbol {
	u32 packed;		/* address */
	char type;		/* as of nm */
	char name[];
} __packed;

/* What went at one time of one module. */
struct gone_module {
	struct list_head list;
	char name[MODULE_NAME_LEN];
	u32 nr, bytes;		/* of the symbols */
	char symbols[];
};

/* The oldest first. Changed and read under the lock of modules.c. */
static LIST_HEAD(gone);
struct memorizer_symbols memorizer_symbols;

/* Names are an aid: records get most of the budget. */
static u64 most_bytes(void)
{
	return memorizer_budget / 32;
}

static struct gone_symbol *symbol_at(struct gone_module *mod, u32 at)
{
	return (struct gone_symbol *)(mod->symbols + at);
}

static u32 symbol_bytes(const char *name)
{
	return sizeof(struct gone_symbol) + strlen(name) + 1;
}

static void forget(struct gone_module *mod, u64 *why)
{
	unsigned long flags;

	*why += mod->nr;
	memorizer_symbols.kept -= mod->nr;
	memorizer_symbols.bytes -= mod->bytes;
	list_del(&mod->list);
	flags = memorizer_lock();
	memorizer_pool_free(mod);
	memorizer_unlock(flags);
}

/* Variables of each CPU and constants are elsewhere, or nowhere. */
static bool is_wanted(const struct module *mod, const Elf_Sym *sym, const char *name,
		      bool init)
{
	return sym->st_shndx != SHN_UNDEF && name[0] &&
	       (init ? within_module_init(sym->st_value, mod) :
		       within_module(sym->st_value, mod));
}

/* Enter the symbols; if @to is NULL, only count them. */
static u32 collect(const struct module *mod, const struct mod_kallsyms *ks, bool init,
		   struct gone_module *to, u32 *bytes)
{
	u32 i, n = 0;

	*bytes = 0;
	for (i = 1; i < ks->num_symtab; i++) {
		const Elf_Sym *sym = &ks->symtab[i];
		const char *name = ks->strtab + sym->st_name;

		if (!is_wanted(mod, sym, name, init))
			continue;
		if (to) {
			struct gone_symbol *symbol = symbol_at(to, *bytes);

			symbol->packed = memorizer_pack_ip(sym->st_value);
			symbol->type = tolower(ks->typetab[i]);
			memcpy(symbol->name, name, strlen(name) + 1);
		}
		*bytes += symbol_bytes(name);
		n++;
	}
	return n;
}

/*
 * Keep the symbols of a module that is about to go; @init: only of what is not
 * needed after its start. The caller holds the lock, and the module stays as it
 * is meanwhile.
 */
void memorizer_keep_symbols(const struct module *mod, const struct mod_kallsyms *ks,
			    bool init)
{
	struct gone_module *to;
	u32 bytes, nr = collect(mod, ks, init, NULL, &bytes);

	if (!nr)
		return;
	while (memorizer_symbols.bytes + bytes > most_bytes() && !list_empty(&gone))
		forget(list_first_entry(&gone, struct gone_module, list),
		       &memorizer_symbols.lost_old);
	to = bytes <= most_bytes() ? memorizer_pool_alloc(sizeof(*to) + bytes) : NULL;
	if (!to) {
		memorizer_symbols.lost_memory += nr;
		return;
	}
	strscpy(to->name, mod->name, sizeof(to->name));
	to->nr = collect(mod, ks, init, to, &to->bytes);
	memorizer_symbols.kept += to->nr;
	memorizer_symbols.bytes += to->bytes;
	list_add_tail(&to->list, &gone);
}

static bool overlaps(struct gone_module *old, const struct module *mod)
{
	u32 at;

	for (at = 0; at < old->bytes; at += symbol_bytes(symbol_at(old, at)->name))
		if (within_module(memorizer_unpack_ip(symbol_at(old, at)->packed), mod))
			return true;
	return false;
}

/* A module is where another was: one address, one name. The lock is held. */
void memorizer_drop_symbols(const struct module *mod)
{
	struct gone_module *old, *next;

	list_for_each_entry_safe(old, next, &gone, list)
		if (overlaps(old, mod))
			forget(old, &memorizer_symbols.lost_reused);
}

/* The position in an open file. */
struct symbol_place {
	struct gone_module *mod;
	u32 at;
};

/* From here to the end of the read, no module is loaded or unloaded. */
static void *symbols_start(struct seq_file *m, loff_t *pos)
{
	struct symbol_place *place = m->private;
	u64 n = *pos;

	memorizer_modules_lock();
	list_for_each_entry(place->mod, &gone, list) {
		if (n >= place->mod->nr) {
			n -= place->mod->nr;
			continue;
		}
		for (place->at = 0; n; n--)
			place->at += symbol_bytes(symbol_at(place->mod, place->at)->name);
		return place;
	}
	return NULL;
}

static void *symbols_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct symbol_place *place = v;

	++*pos;
	place->at += symbol_bytes(symbol_at(place->mod, place->at)->name);
	if (place->at < place->mod->bytes)
		return place;
	if (list_is_last(&place->mod->list, &gone))
		return NULL;
	place->mod = list_next_entry(place->mod, list);
	place->at = 0;
	return place;
}

static void symbols_stop(struct seq_file *m, void *v)
{
	memorizer_modules_unlock();
}

static int symbols_show(struct seq_file *m, void *v)
{
	const struct symbol_place *place = v;
	const struct gone_symbol *symbol = symbol_at(place->mod, place->at);

	seq_printf(m, "%016lx %c %s\t[%s]\n", memorizer_unpack_ip(symbol->packed),
		   symbol->type, symbol->name, place->mod->name);
	return 0;
}

static const struct seq_operations symbols_ops = {
	.start = symbols_start,
	.next = symbols_next,
	.stop = symbols_stop,
	.show = symbols_show,
};

MEMORIZER_SEQ_FILE(memorizer_symbols_fops, symbols_ops, sizeof(struct symbol_place));

void memorizer_show_symbols(struct seq_file *m)
{
	struct memorizer_symbols s;

	memorizer_modules_lock();
	s = memorizer_symbols;
	memorizer_modules_unlock();
	seq_puts(m, "modules\n");
	seq_printf(m, "  symbols kept                 %llu\n", s.kept);
	seq_printf(m, "    bytes                      %llu\n", s.bytes);
	seq_printf(m, "  symbols lost                 %llu\n",
		   s.lost_old + s.lost_memory + s.lost_reused);
	seq_printf(m, "    too many                   %llu\n", s.lost_old);
	seq_printf(m, "    no memory                  %llu\n", s.lost_memory);
	seq_printf(m, "    addresses used again       %llu\n", s.lost_reused);
}
