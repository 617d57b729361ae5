// SPDX-License-Identifier: BSD-2-Clause
/* Write the records of a KMAP into a container. */
#include <errno.h>

#include "base/error.h"
#include "export/kmap.h"
#include "trace/early_end.h"

int mz_kmap_container_open(struct mz_kmap_container *c, const char *path, bool best, bool overwrite,
			   struct mz_error *err)
{
	struct mz_writer_options how = {.best = best, .overwrite = overwrite, .discard = true};

	c->w = mz_writer_open(path ? path : "-", &how, err);
	if (!c->w)
		return mz_error_code(err);
	mz_kmap_packer_init(&c->packer, c->w);
	return mz_writer_set_text(c->w, "source", "kmap") < 0 ? mz_fail_memory(err) : 0;
}

/* Packing fails with the writer's error, or without memory. */
static int packing_failed(const struct mz_kmap_container *c, struct mz_error *err)
{
	const struct mz_error *e = mz_writer_error(c->w);

	if (!e->code)
		return mz_fail_memory(err);
	*err = *e;
	return -e->code;
}

int mz_kmap_container_put(struct mz_kmap_container *c, const struct mz_kmap_record *rec,
			  struct mz_error *err)
{
	return mz_kmap_pack(&c->packer, rec) < 0 ? packing_failed(c, err) : 0;
}

int mz_kmap_container_close(struct mz_kmap_container *c, unsigned files_cut, struct mz_error *err)
{
	struct mz_writer *w = c->w;

	if (mz_kmap_pack_end(&c->packer) < 0)
		return packing_failed(c, err);
	mz_writer_produced(w, c->packer.events);
	if (mz_writer_set_files_cut(w, files_cut) < 0)
		return mz_fail_memory(err);
	c->w = NULL;
	return mz_writer_close(w, err);
}

void mz_kmap_container_abort(struct mz_kmap_container *c)
{
	if (c->w)
		mz_writer_abort(c->w);
	c->w = NULL;
	mz_kmap_packer_deinit(&c->packer);
}
