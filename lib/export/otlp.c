// SPDX-License-Identifier: BSD-2-Clause
/* Write the request of OTLP profiles, version 1.11.0 of the protocol: one profile for each
 * value, and one dictionary. Other versions have other fields. */
#include <string.h>

#include "base/error.h"
#include "base/sha256.h"
#include "export/export.h"
#include "export/names.h"
#include "export/proto.h"

/* Numbers of fields, as in opentelemetry-proto 1.11.0. */
enum { REQUEST_RESOURCES = 1, REQUEST_DICTIONARY = 2 };
enum { RESOURCES_RESOURCE = 1, RESOURCES_SCOPES = 2 };
enum { RESOURCE_ATTRIBUTES = 1, KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2, ANY_STRING = 1 };
enum { SCOPES_SCOPE = 1, SCOPES_PROFILES = 2, SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum {
	TABLE_MAPPING = 1,
	TABLE_LOCATION,
	TABLE_FUNCTION,
	TABLE_LINK,
	TABLE_STRING,
	TABLE_ATTRIBUTE,
	TABLE_STACK
};
enum {
	PROFILE_TYPE = 1,
	PROFILE_SAMPLES = 2,
	PROFILE_TIME = 3,
	PROFILE_DURATION = 4,
	PROFILE_ID = 7
};
enum { SAMPLE_STACK = 1, SAMPLE_VALUES = 4 };
enum { MAPPING_FILE = 4 };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS = 2, LOCATION_LINES = 3 };
enum { LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum { FUNCTION_NAME = 1, FUNCTION_SYSTEM_NAME = 2, FUNCTION_FILE = 3 };
enum { TYPE_NAME = 1, TYPE_UNIT = 2 };

struct otlp_export {
	const struct mz_profile *p;
	const struct mz_export_options *o;
	struct mz_export_names n;
	struct mz_buf table, part, inner, out, profiles, scope;
};

/* Locations of one function share its entry. */
static void put_location(struct otlp_export *j, uint32_t frame)
{
	struct mz_frame f = mz_profile_get_frame(j->p, frame);

	mz_proto_u64(&j->inner, LINE_FUNCTION, mz_export_function(&j->n, &f));
	mz_proto_u64(&j->inner, LINE_NUMBER, f.line);
	mz_proto_u64(&j->part, LOCATION_MAPPING, mz_export_module(&j->n, &f));
	mz_proto_u64(&j->part, LOCATION_ADDRESS, f.addr);
	mz_proto_message(&j->part, LOCATION_LINES, &j->inner);
	mz_proto_message(&j->table, TABLE_LOCATION, &j->part);
}

/* Each table begins with an element without fields. */
static void put_zero(struct otlp_export *j, unsigned table)
{
	mz_proto_message(&j->table, table, &j->part);
}

/* Stacks are stored with the innermost frame first, which is the order that the protocol wants. */
static void put_stacks(struct otlp_export *j)
{
	put_zero(j, TABLE_STACK);
	for (size_t i = 0; i < j->p->nsites; i++) {
		size_t depth;
		const uint64_t *frames = mz_profile_stack(j->p, &j->p->sites[i], &depth);

		for (size_t k = 0; k < depth; k++)
			mz_proto_varint(&j->inner, frames[k]);
		mz_proto_message(&j->part, 1, &j->inner);
		mz_proto_message(&j->table, TABLE_STACK, &j->part);
	}
}

static void put_functions(struct otlp_export *j)
{
	put_zero(j, TABLE_FUNCTION);
	for (uint32_t i = 1; i <= mz_tables_stacks(j->n.functions); i++) {
		size_t n;
		const uint64_t *f = mz_tables_get_stack(j->n.functions, i, &n);

		mz_proto_u64(&j->part, FUNCTION_NAME, f[0]);
		mz_proto_u64(&j->part, FUNCTION_SYSTEM_NAME, f[0]);
		mz_proto_u64(&j->part, FUNCTION_FILE, f[1]);
		mz_proto_message(&j->table, TABLE_FUNCTION, &j->part);
	}
	put_zero(j, TABLE_MAPPING);
	for (uint32_t i = 1; i <= mz_tables_strings(j->n.modules); i++) {
		size_t n;

		mz_proto_u64(&j->part, MAPPING_FILE,
			     mz_export_string(&j->n, mz_tables_get_string(j->n.modules, i, &n)));
		mz_proto_message(&j->table, TABLE_MAPPING, &j->part);
	}
}

/* Wire type 1: eight bytes, least significant first, which is how this machine has them. */
static void put_fixed64(struct mz_buf *b, unsigned field, uint64_t v)
{
	mz_proto_varint(b, field << 3 | 1);
	mz_buf_add(b, &v, sizeof(v));
}

/* The identity of a profile follows from its samples: a profile that is sent twice keeps it. */
static void put_id(struct otlp_export *j, size_t type)
{
	unsigned char sum[32];
	struct mz_sha256 s;

	mz_sha256_init(&s);
	mz_sha256_add(&s, mz_export_values[type].name, strlen(mz_export_values[type].name));
	mz_sha256_add(&s, j->table.data, j->table.len);
	mz_sha256_add(&s, j->profiles.data, j->profiles.len);
	mz_sha256_add(&s, &j->o->time_ns, sizeof(j->o->time_ns));
	mz_sha256_end(&s, sum);
	mz_proto_bytes(&j->profiles, PROFILE_ID, sum, 16);
}

/*
 * A profile has one type of value in this version of the protocol, so each value is a profile.
 * Samples of 0 are left out; a value that the recording lacks has no profile at all.
 */
static void put_profile(struct otlp_export *j, size_t type)
{
	const struct mz_profile_value *v = mz_profile_find_value(mz_export_values[type].value);

	if (!(j->p->has & v->has))
		return;
	mz_proto_u64(&j->part, TYPE_NAME, mz_export_string(&j->n, mz_export_values[type].name));
	mz_proto_u64(&j->part, TYPE_UNIT, mz_export_string(&j->n, mz_export_values[type].unit));
	mz_proto_message(&j->profiles, PROFILE_TYPE, &j->part);
	for (size_t i = 0; i < j->p->nsites; i++) {
		uint64_t value = mz_profile_get(v, &j->p->sites[i].sum);

		if (!value)
			continue;
		/* stack 0 is the empty element */
		mz_proto_u64(&j->part, SAMPLE_STACK, i + 1);
		mz_proto_varint(&j->inner, value);
		mz_proto_message(&j->part, SAMPLE_VALUES, &j->inner);
		mz_proto_message(&j->profiles, PROFILE_SAMPLES, &j->part);
	}
	put_fixed64(&j->profiles, PROFILE_TIME, j->o->time_ns);
	if (j->p->clock == MZ_CLOCK_NS && j->p->last > j->p->first)
		mz_proto_u64(&j->profiles, PROFILE_DURATION, j->p->last - j->p->first);
	put_id(j, type);
	mz_proto_message(&j->scope, SCOPES_PROFILES, &j->profiles);
}

/* The names are those of OpenTelemetry's semantic conventions, by which collectors group. */
static void put_attribute(struct otlp_export *j, struct mz_buf *to, const char *key,
			  const char *value)
{
	struct mz_buf any = {0};

	if (!value || !*value)
		return;
	mz_proto_string(&any, ANY_STRING, value);
	mz_proto_string(&j->part, KEY_VALUE_KEY, key);
	mz_proto_message(&j->part, KEY_VALUE_VALUE, &any);
	mz_proto_message(to, RESOURCE_ATTRIBUTES, &j->part);
	mz_buf_free(&any);
}

/*
 * Strings come last: every other part adds some. Tables that are not used still need their empty
 * element.
 */
static void put_all(struct otlp_export *j)
{
	struct mz_buf resource = {0}, scopes = {0};

	put_zero(j, TABLE_LOCATION);
	for (uint32_t i = 1; i <= mz_profile_frames(j->p); i++)
		put_location(j, i);
	put_stacks(j);
	put_functions(j);
	mz_proto_string(&j->part, SCOPE_NAME, "memorizer");
	mz_proto_string(&j->part, SCOPE_VERSION, MZ_VERSION);
	mz_proto_message(&j->scope, SCOPES_SCOPE, &j->part);
	for (size_t i = 0; i < MZ_EXPORT_OTLP_VALUES; i++)
		put_profile(j, i);
	put_zero(j, TABLE_LINK);
	put_zero(j, TABLE_ATTRIBUTE);
	mz_export_strings(&j->n, &j->table, TABLE_STRING);
	put_attribute(j, &resource, "service.name",
		      j->o->program ? j->o->program : mz_profile_title(j->p));
	put_attribute(j, &resource, "service.version", j->o->revision);
	put_attribute(j, &resource, "host.name", j->o->host);
	mz_proto_message(&scopes, RESOURCES_RESOURCE, &resource);
	mz_proto_message(&scopes, RESOURCES_SCOPES, &j->scope);
	mz_proto_message(&j->out, REQUEST_RESOURCES, &scopes);
	mz_proto_message(&j->out, REQUEST_DICTIONARY, &j->table);
	mz_buf_free(&resource);
	mz_buf_free(&scopes);
}

int mz_export_otlp(const struct mz_profile *p, const struct mz_export_options *o,
		   struct mz_output *out, struct mz_error *err)
{
	struct otlp_export j = {.p = p, .o = o};
	int ret;

	mz_export_names_init(&j.n);
	if (!j.n.failed)
		put_all(&j);
	ret = j.n.failed || j.out.failed ? mz_fail_memory(err)
					 : mz_output_add(out, j.out.data, j.out.len, err);
	mz_export_names_deinit(&j.n);
	mz_buf_free(&j.table);
	mz_buf_free(&j.part);
	mz_buf_free(&j.inner);
	mz_buf_free(&j.out);
	mz_buf_free(&j.profiles);
	mz_buf_free(&j.scope);
	return ret;
}
