// SPDX-License-Identifier: BSD-2-Clause
/* Read the job that the host describes. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/guest.h"

/* A line is KEY=VALUE. */
static bool value_of(const char *s, const char *key, const char **value)
{
	size_t n = strlen(key);

	if (strncmp(s, key, n) || s[n] != '=')
		return false;
	*value = s + n + 1;
	return true;
}

static void job_line(struct guest_job *j, char *s)
{
	const char *v;

	if (value_of(s, "arg", &v) && j->nargs + 1 < sizeof(j->args) / sizeof(*j->args))
		j->args[j->nargs++] = (char *)v;
	else if (value_of(s, "env", &v) && j->nenv + 1 < sizeof(j->env) / sizeof(*j->env))
		j->env[j->nenv++] = (char *)v;
	else if (value_of(s, "cwd", &v))
		j->cwd = v;
	else if (value_of(s, "mode", &v))
		j->mode = v;
	else if (value_of(s, "kmemtrace", &v))
		j->kmemtrace = v;
	else if (value_of(s, "must", &v))
		j->must = true;
	else if (value_of(s, "accesses", &v))
		j->accesses = true;
	else if (value_of(s, "fields", &v))
		j->fields = true;
	else if (value_of(s, "frames", &v))
		j->frames = true;
	else if (value_of(s, "calls", &v))
		j->calls = true;
	else if (value_of(s, "owners", &v))
		j->owners = true;
	else if (value_of(s, "stream", &v))
		j->stream = true;
	else if (value_of(s, "boot", &v))
		j->boot = true;
	else if (value_of(s, "kmap", &v))
		j->kmap = true;
	else if (value_of(s, "stdin", &v))
		j->stdin_open = true;
	else if (value_of(s, "shell", &v))
		j->shell = true;
	else if (value_of(s, "disk", &v))
		j->disk = true;
}

/* Lines end in a NUL, as arguments and variables may contain any other byte. The buffer
 * stays: the job points into it. */
void guest_read_job(struct guest_job *j, const char *path)
{
	struct stat st;
	char *data;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0 || fstat(fd, &st))
		guest_fail("%s: %s", path, strerror(errno));
	data = calloc(1, (size_t)st.st_size + 1);
	n = data ? read(fd, data, (size_t)st.st_size) : -1;
	close(fd);
	if (n != st.st_size)
		guest_fail("%s: cannot read", path);
	for (char *s = data; s < data + n; s += strlen(s) + 1)
		job_line(j, s);
}
