// SPDX-License-Identifier: BSD-2-Clause
/* Parse times as users write them: dates, seconds since 1970, and days ago. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmds/store/store.h"

#define LAST	253402300799 /* s: the end of the year 9999 */
#define DAYS_MS 86400000

uint64_t store_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* 0 means "any time" in a filter, so the start of 1970 is 1 ms. */
static uint64_t in_ms(uint64_t seconds)
{
	return seconds ? seconds * 1000 : 1;
}

/* What may follow a time of day: nothing, Z, or +HH:MM east of Greenwich. */
static bool read_zone(const char *text, long *seconds)
{
	unsigned hours, minutes;
	char sign, end;

	*seconds = 0;
	if (!*text || !strcmp(text, "Z"))
		return true;
	if (strlen(text) != 6 || strspn(text + 1, "0123456789:") != 5 ||
	    sscanf(text, "%c%2u:%2u%c", &sign, &hours, &minutes, &end) != 3 ||
	    (sign != '+' && sign != '-') || hours > 14 || minutes > 59)
		return false;
	*seconds = (long)(hours * 3600 + minutes * 60) * (sign == '-' ? -1 : 1);
	return true;
}

/* timegm() turns 31 February into 3 March: a day that does not exist comes back as another one. */
static bool exists(struct tm *tm, time_t *t)
{
	struct tm given = *tm;

	*t = timegm(tm);
	return given.tm_mday == tm->tm_mday && given.tm_mon == tm->tm_mon &&
	       given.tm_year == tm->tm_year && given.tm_hour == tm->tm_hour &&
	       given.tm_min == tm->tm_min && given.tm_sec == tm->tm_sec;
}

static bool read_date(const char *text, uint64_t *time_out)
{
	static const char *const formats[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d"};

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		struct tm tm = {0};
		const char *rest = strptime(text, formats[i], &tm);
		long east = 0;
		time_t t;

		if (!rest || (i == 2 ? *rest != '\0' : !read_zone(rest, &east)))
			continue;
		if (!exists(&tm, &t) || t - east < 0)
			return false;
		*time_out = in_ms((uint64_t)(t - east));
		return true;
	}
	return false;
}

bool store_time(const char *text, uint64_t *time_out)
{
	uint64_t now = store_now();
	unsigned long long n;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	n = strtoull(text, &end, 10);
	if (!*end && n <= LAST) {
		*time_out = in_ms(n);
		return true;
	}
	/* more days than have passed since 1970 mean all recordings */
	if (!strcmp(end, "d")) {
		*time_out = n < now / DAYS_MS ? now - n * DAYS_MS : 1;
		return true;
	}
	return *end == '-' && read_date(text, time_out);
}
