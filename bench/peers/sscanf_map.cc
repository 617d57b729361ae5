// SPDX-License-Identifier: BSD-2-Clause
// trace2cmt by the method of the original: getline, sscanf, a std::map and a
// write for every byte. A peer for the bench, nothing more.
#include <cstdio>
#include <cstdlib>
#include <map>

static std::map<unsigned long, unsigned> serials;
static unsigned newest;

static void number(FILE *out, unsigned long v)
{
	do {
		unsigned char c = v & 0x7f;
		v >>= 7;
		if (!v)
			c |= 0x80;
		fwrite(&c, 1, 1, out);
	} while (v);
}

static unsigned long back(unsigned long p)
{
	auto it = serials.find(p);
	unsigned long n = newest + 1 - it->second;
	serials.erase(it);
	return n;
}

int main(int argc, char **argv)
{
	FILE *in = fopen(argv[1], "r"), *out = fopen("/dev/null", "w");
	char *line = nullptr;
	size_t cap = 0;
	unsigned long p, q;
	int n;

	(void)argc;
	while (getline(&line, &cap, in) > 0) {
		if (sscanf(line, "malloc(%d) = %lx\n", &n, &q) == 2) {
			number(out, n), number(out, 0), number(out, 1);
			serials.insert({q, ++newest});
		} else if (sscanf(line, "free(%lx)\n", &p) == 1) {
			number(out, 0), number(out, back(p));
		} else if (sscanf(line, "realloc(%lx, %d) = %lx\n", &p, &n, &q) == 3) {
			number(out, n), number(out, back(p)), number(out, 1);
			serials.insert({q, ++newest});
		} else {
			return 1;
		}
	}
	return 0;
}
