// SPDX-License-Identifier: BSD-2-Clause
/* A program whose accesses are known: see plugin.test. Each function is one row of it. */
#include <stdio.h>
#include <stdlib.h>

extern char plugin_counting;
extern const void *plugin_from, *plugin_to;

void plugin_note_read_write(void *address);

struct node {
	struct node *next;
	int value, weight;
	unsigned odd : 1, rank : 7;
	union {
		long whole;
		char parts[8];
	};
	struct {
		short x, y;
	} at[4];
};

int total;

__attribute__((noinline)) int walk(const struct node *n)
{
	int sum = 0;

	for (; n; n = n->next)
		sum += n->value * n->weight;
	return sum;
}

__attribute__((noinline)) void mark(struct node *n, int i)
{
	n->odd = 1;
	n->whole = 7;
	n->at[i].y = 3;
	n->at[2].x++;
}

__attribute__((noinline)) void add(int n)
{
	total += n;
}

__attribute__((noinline)) void copy(struct node *to, const struct node *from)
{
	*to = *from;
}

__attribute__((noinline)) void atomically(struct node *n)
{
	plugin_note_read_write(&n->weight);
	__asm__ volatile("lock incl %0" : "+m"(n->weight));
}

/* Two blocks that run together, with one between them that may not. */
__attribute__((noinline)) int around(struct node *n, int k)
{
	int w = n->weight;

	if (k)
		w /= k;
	n->value = w;
	return w;
}

/* The same with a call in that one. */
__attribute__((noinline)) int calling(struct node *n, int k)
{
	int w = n->weight;

	if (k)
		w /= around(n, k);
	n->value = w;
	return w;
}

/* The block in the loop runs three times, and the last one never. */
__attribute__((noinline)) int often(volatile struct node *n, int k)
{
	int w = n->weight;

	for (int i = 0; i < 3; i++)
		n->value += w / k;
	if (w == k + 1)
		return 0;
	n->whole = w;
	if (w != k)
		n->odd = 1;
	return w;
}

__attribute__((noinline, no_sanitize_thread)) int alone(const struct node *n)
{
	return n->value;
}

/* Nobody else can see it: no access. */
__attribute__((noinline)) int private(int i)
{
	int local[4] = {1, 2, 3, 4};

	return local[i & 3];
}

/* What the registers hold across a stretch must survive its counting. */
__attribute__((noinline)) long busy(const long *v, long a, long b, long c, long d, long e)
{
	for (int i = 0; i < 6; i++) {
		a += v[i] * b;
		b ^= v[i + 1] + c;
		c -= v[i + 2] * d;
		d += v[i + 3] ^ e;
		e = e * 3 + a;
	}
	return a + b * 3 + c * 5 + d * 7 + e * 11;
}

/* The address is computed for the report alone, in two steps. */
__attribute__((noinline)) long last(const long *v, unsigned long n)
{
	unsigned long i = (n - 1) / 8;

	do {
		if (v[i])
			return (long)i;
	} while (i--);
	return -1;
}

/* Structures in registers: a call reads and writes them, one count each. */
struct owner {
	long id, group;
};

struct file {
	int mode;
	struct owner owner;
};

__attribute__((noipa)) struct owner next_owner(struct owner o)
{
	o.id++;
	return o;
}

__attribute__((noinline)) void chown_file(struct file *f)
{
	f->owner = next_owner(f->owner);
	f->mode = 6;
}

int main(void)
{
	static const long numbers[12] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};
	long *v = malloc(sizeof(numbers)), result[2];
	struct node *nodes = calloc(11, sizeof(*nodes));
	long *few = calloc(12, sizeof(*few));
	struct file *file = calloc(1, sizeof(*file));

	for (int i = 0; i < 9; i++)
		nodes[i].next = &nodes[i + 1];
	for (int i = 0; i < 12; i++)
		v[i] = numbers[i];
	for (int on = 0; on < 2; on++) {
		plugin_counting = on;
		walk(nodes);
		mark(nodes, 1);
		add(walk(nodes));
		copy(&nodes[10], &nodes[9]);
		atomically(nodes);
		alone(nodes);
		private(2);
		nodes[8].weight = 5;
		around(&nodes[8], 2);
		calling(&nodes[8], 0);
		often(&nodes[8], 5);
		chown_file(file);
		result[on] = busy(v, 1, 2, 3, 4, 5);
		plugin_from = few;
		plugin_to = few + 12;
		result[on] += last(few, 90);
		plugin_from = NULL;
	}
	plugin_counting = 0;
	printf("%s %d\n", result[0] == result[1] ? "same" : "different", nodes[0].weight);
	return 0;
}
