// SPDX-License-Identifier: BSD-2-Clause
/* Copy the relay files of a kernel with kmemtrace. */
#include "cmds/record/kmemtraced.h"

#include <inttypes.h>
#include <sys/resource.h>

#include "base/json.h"
#include "record/kmem.h"
#include "record/relay.h"

static void progress(struct kmemtraced_job *j, struct kmemtraced_progress *p)
{
	struct mz_relay_counts n;

	mz_relay_counts(j->relay, &n, NULL);
	p->events = n.recorded;
	p->lost = n.lost;
	p->bytes = mz_relay_bytes(j->relay);
}

static int failed(struct kmemtraced_job *j)
{
	return mz_relay_failed(j->relay, &j->err);
}

static const struct kmemtraced_source source = {progress, failed};

static void print_json(const struct kmemtraced_job *j, const struct mz_relay_counts *n)
{
	struct mz_buf b = {0};
	struct mz_json w = {.out = &b};

	mz_json_object(&w, NULL);
	mz_json_str(&w, "path", j->dir);
	mz_json_str(&w, "source", "relay");
	mz_json_u64(&w, "cpus", mz_relay_cpus(j->relay));
	mz_json_bool(&w, "since_boot", mz_relay_since_boot(j->relay));
	mz_json_double(&w, "seconds", (double)(j->ended - j->began) / 1e9);
	mz_json_u64(&w, "produced", n->sequence);
	mz_json_u64(&w, "events", mz_relay_written(j->relay));
	mz_json_bool(&w, "verified", mz_relay_verified(j->relay));
	mz_json_object(&w, "lost");
	mz_json_u64(&w, "total", n->lost);
	mz_json_u64(&w, "ring_full", n->full);
	mz_json_u64(&w, "early_full", n->early);
	mz_json_u64(&w, "no_buffer", n->no_buffer);
	mz_json_u64(&w, "nmi", n->nmi);
	mz_json_end_object(&w);
	mz_json_u64(&w, "null_frees", n->nulls);
	mz_json_u64(&w, "bytes", mz_relay_bytes(j->relay));
	mz_json_end_object(&w);
	console_put(&b, stdout);
}

static void print_account(const struct kmemtraced_job *j, const struct mz_relay_counts *n)
{
	char a[32], b[32], c[32];

	console_note("%s events of %u CPUs %s, %s, in %s",
		     console_count(a, mz_relay_written(j->relay)), mz_relay_cpus(j->relay),
		     mz_relay_since_boot(j->relay) ? "since tracing began"
						   : "by kmemtrace in the kernel",
		     console_bytes(b, mz_relay_bytes(j->relay)), j->dir);
	if (mz_relay_verified(j->relay))
		console_note("produced %s = written %s + lost %s: verified",
			     console_count(a, n->sequence),
			     console_count(b, mz_relay_written(j->relay)),
			     console_count(c, n->lost));
	else
		console_note("another reader has consumed a part; %s events were lost since boot",
			     console_count(a, n->lost));
	if (n->lost)
		console_note("lost: buffer full %" PRIu64 ", early buffer full %" PRIu64
			     ", no buffer %" PRIu64 ", in NMI %" PRIu64
			     "; boot with a higher kmemtrace.subbufs=N",
			     n->full, n->early, n->no_buffer, n->nmi);
	if (n->no_cache || n->no_stack)
		console_note(
			"incomplete: %s events without the name of their cache, %s without their "
			"stack",
			console_count(a, n->no_cache), console_count(b, n->no_stack));
	kmemtraced_say_end(j);
}

static int take(struct kmemtraced_job *j, const sigset_t *signals)
{
	struct mz_relay_counts n;
	int ret = mz_relay_start(j->relay, &j->err);

	if (!ret && !j->o->drain) {
		if (!j->o->quiet)
			console_note("Logging... Press Control-C to stop.");
		ret = kmemtraced_wait(j, &source, signals);
	}
	if (mz_relay_stop(j->relay, ret ? NULL : &j->err) < 0 || ret < 0)
		return console_error(&j->err);
	if (mz_relay_counts(j->relay, &n, &j->err) < 0)
		return console_error(&j->err);
	if (j->o->json)
		print_json(j, &n);
	else
		print_account(j, &n);
	return MZ_EXIT_OK;
}

int kmemtraced_relay(struct kmemtraced_job *j, const sigset_t *signals)
{
	struct mz_relay_options o = {
		.stacks = j->o->stacks, .drain = j->o->drain, .overwrite = j->o->force};
	int ret;

	if (kmemtraced_begin_dir(j) < 0)
		return console_error(&j->err);
	setpriority(PRIO_PROCESS, 0, -15);
	j->relay = mz_relay_open(&o, j->dir, &j->err);
	if (!j->relay)
		return console_error(&j->err);
	kmemtraced_drop_rights();
	ret = take(j, signals);
	mz_relay_close(j->relay);
	return ret;
}
