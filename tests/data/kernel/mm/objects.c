// SPDX-License-Identifier: BSD-2-Clause
/* A kernel that allocates structures in the ways that kernels do, to try types on. It is
 * never run. */
#define quiet __attribute__((noinline, noclone, noipa))

typedef struct {
	int counter;
} atomic_t;

struct list {
	struct list *next, *prev;
};

struct inner {
	int a;
	struct list link;
};

struct known {
	long id;
	atomic_t refs;
	unsigned flag : 3, kind : 5;
	char name[16];
	struct inner in;
	union {
		long word;
		struct {
			int lo, hi;
		};
	} u;
	union {
		void *data;
		struct list *queue;
	};
	short tail;
};

/* As large as the other. */
struct other {
	char text[sizeof(struct known)];
};

struct flex {
	int n;
	char data[];
};

struct element {
	long key, value;
};

quiet void *kmalloc(unsigned long size)
{
	__asm__ volatile("" : "+r"(size));
	return (void *)size;
}

quiet void *cache_alloc(void)
{
	return kmalloc(1);
}

quiet void use(void *p)
{
	__asm__ volatile(".skip 64, 0x90" ::"r"(p) : "memory");
}

static inline __attribute__((always_inline)) void *kzalloc(unsigned long size)
{
	return kmalloc(size);
}

quiet struct known *make_known(long id)
{
	struct known *k = kmalloc(sizeof(*k));

	if (!k)
		return 0;
	k->id = id;
	k->refs.counter = 1;
	use(k);
	return k;
}

quiet int make_inlined(struct list *to)
{
	struct known *fresh = kzalloc(sizeof(*fresh));

	use(to);
	if (!fresh)
		return -12;
	fresh->in.link.next = to;
	use(fresh);
	return 0;
}

/* No variable: what it returns tells. */
quiet struct known *give_known(int *done)
{
	struct known *k = cache_alloc();

	*done = 1;
	return k;
}

quiet struct flex *make_flex(int n)
{
	struct flex *f = kmalloc(sizeof(*f) + (unsigned long)n);

	f->n = n;
	use(f);
	return f;
}

quiet void make_elements(int n)
{
	struct element *all = kmalloc((unsigned long)n * sizeof(*all));

	for (int i = 0; i < n; i++)
		all[i].value = i;
	use(all);
}

/* Nothing tells. */
quiet void make_bytes(void)
{
	void *p = kmalloc(sizeof(struct known));

	use(p);
	use(0);
}

/* Two tell different things. */
quiet void make_either(void)
{
	void *p = kmalloc(sizeof(struct known));
	struct known *k = p;
	struct other *o = p;

	use(k);
	use(o);
	use(k->u.lo ? (void *)o->text : k);
}

void start_kernel(void)
{
	int done;

	make_known(1);
	make_inlined(0);
	give_known(&done);
	make_flex(7);
	make_elements(4);
	make_bytes();
	make_either();
}
