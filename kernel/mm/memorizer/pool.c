// SPDX-License-Identifier: GPL-2.0
/*
 * All of Memorizer's memory: one piece taken at boot, cut into chunks, a chunk
 * into pieces of one size. A chunk without pieces in use goes back and can
 * serve another size, so that the budget is one for everything.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "memorizer.h"

#define CHUNK_SHIFT	17
#define CHUNK_SIZE	(1UL << CHUNK_SHIFT)

/*
 * Objects first; then slab maps, region pages, logs (440 to 4184) and site tables of
 * 128 to 1024 with and without extents. What is larger than a chunk takes several.
 */
static const u32 class_size[] = {
	sizeof(struct memorizer_object),
	64, 96, 160, 208, 288, 440, 664, 784, 1112, 1456, 2008, 2192, 4352, 8448, 16640,
	33024, CHUNK_SIZE,
};

#define CLASS_OBJECT	0
#define NR_CLASSES	ARRAY_SIZE(class_size)
#define CLASS_RUN	NR_CLASSES	/* chunks side by side, one piece */
#define NO_CHUNK	(~0U)

struct chunk {
	void *free;		/* pieces given back, linked by their first word */
	u32 next, prev;		/* ring of partly used or of free chunks */
	u32 used, fresh;	/* pieces in use; pieces ever handed out */
	u8 class;
	bool listed;
	bool unused;		/* on the ring of free chunks */
};

unsigned long memorizer_pool_bytes;
unsigned long memorizer_budget;
static char *pool;
static struct chunk *chunks;
static u32 nr_chunks, chunks_free, free_list = NO_CHUNK;
static u32 partial[NR_CLASSES];

static u32 pieces(int class)
{
	return CHUNK_SIZE / class_size[class];
}

/*
 * Add a chunk to the end of its ring. A chunk whose pieces begin to come back
 * is then the last to hand them out again: it can become empty first, and an
 * empty chunk is what all sizes can use.
 */
static void list_chunk(u32 *head, u32 c)
{
	struct chunk *ch = &chunks[c];

	if (*head == NO_CHUNK) {
		*head = c;
		ch->prev = c;
	}
	ch->next = *head;
	ch->prev = chunks[*head].prev;
	chunks[ch->prev].next = c;
	chunks[ch->next].prev = c;
	ch->listed = true;
}

static void unlist_chunk(u32 *head, u32 c)
{
	struct chunk *ch = &chunks[c];

	chunks[ch->prev].next = ch->next;
	chunks[ch->next].prev = ch->prev;
	if (*head == c)
		*head = ch->next == c ? NO_CHUNK : ch->next;
	ch->listed = false;
}

static void take_chunk(u32 c, int class)
{
	struct chunk *ch = &chunks[c];

	unlist_chunk(&free_list, c);
	chunks_free--;
	ch->unused = false;
	ch->free = NULL;
	ch->used = 0;
	ch->fresh = 0;
	smp_store_release(&ch->class, class);
}

static void give_chunk(u32 c)
{
	WRITE_ONCE(chunks[c].fresh, 0);
	list_chunk(&free_list, c);
	free_list = c; /* the last one first: runs find the others side by side */
	chunks[c].unused = true;
	chunks_free++;
}

int memorizer_pool_init(void *mem, unsigned long bytes)
{
	unsigned long head;
	u32 c;

	nr_chunks = bytes >> CHUNK_SHIFT;
	head = PAGE_ALIGN(nr_chunks * sizeof(struct chunk));
	nr_chunks = (bytes - head) >> CHUNK_SHIFT;
	if (nr_chunks < NR_CLASSES)
		return -ENOMEM;

	chunks = mem;
	pool = (char *)mem + head;
	memset(chunks, 0, head);
	for (c = nr_chunks; c-- > 0; )
		give_chunk(c);
	for (c = 0; c < NR_CLASSES; c++)
		partial[c] = NO_CHUNK;
	memorizer_pool_bytes = bytes;
	return 0;
}

/* All of it, with the table of chunks; NULL if there is none. */
void *memorizer_pool_memory(void)
{
	return memorizer_pages ? chunks : NULL;
}

static void *alloc_class(int class)
{
	u32 c = partial[class];
	struct chunk *ch;
	void *p;

	if (c == NO_CHUNK) {
		c = free_list;
		if (c == NO_CHUNK)
			return NULL;
		take_chunk(c, class);
		list_chunk(&partial[class], c);
	}
	ch = &chunks[c];
	if (ch->free) {
		p = ch->free;
		ch->free = *(void **)p;
	} else {
		p = pool + ((unsigned long)c << CHUNK_SHIFT) +
		    ch->fresh * class_size[class];
		/* A reader of the objects may look at it at once. */
		if (class == CLASS_OBJECT)
			((struct memorizer_object *)p)->state = OBJ_UNUSED;
		smp_store_release(&ch->fresh, ch->fresh + 1);
	}
	ch->used++;
	if (!ch->free && ch->fresh == pieces(class))
		unlist_chunk(&partial[class], c);
	return p;
}

/*
 * @nr chunks side by side. From the end of the pool, so that they seldom lie
 * where single chunks come and go.
 */
static void *alloc_run(u32 nr)
{
	u32 c, n = 0;

	if (chunks_free < nr)
		return NULL;
	for (c = nr_chunks; c && n < nr; c--)
		n = chunks[c - 1].unused ? n + 1 : 0;
	if (n < nr)
		return NULL;
	for (n = 0; n < nr; n++)
		take_chunk(c + n, CLASS_RUN);
	chunks[c].used = nr;
	return pool + ((unsigned long)c << CHUNK_SHIFT);
}

/*
 * Checked without the lock: when nothing is left, many callers try again and
 * again.
 */
static bool used_up(int class)
{
	return READ_ONCE(partial[class]) == NO_CHUNK &&
	       READ_ONCE(free_list) == NO_CHUNK;
}

/* Called with the lock held, like everything below that changes the pool. */
void *memorizer_pool_alloc_object(void)
{
	return alloc_class(CLASS_OBJECT);
}

/* Zeroed. Takes the lock. */
void *memorizer_pool_alloc(size_t size)
{
	u32 nr = DIV_ROUND_UP(size, CHUNK_SIZE);
	unsigned long flags;
	void *p = NULL;
	int class;

	for (class = 1; class < NR_CLASSES; class++)
		if (size <= class_size[class])
			break;
	if (class == CLASS_RUN ? READ_ONCE(chunks_free) < nr : used_up(class))
		return NULL;
	flags = memorizer_lock();
	p = class == CLASS_RUN ? alloc_run(nr) : alloc_class(class);
	memorizer_unlock(flags);
	if (p)
		memorizer_clear(p, round_up(size, 8));
	return p;
}

/* Called with the lock held. */
void memorizer_pool_free(void *p)
{
	u32 c = ((char *)p - pool) >> CHUNK_SHIFT;
	struct chunk *ch = &chunks[c];
	u32 nr;

	if (ch->class == CLASS_RUN) {
		for (nr = ch->used; nr--; c++)
			give_chunk(c);
		return;
	}
	*(void **)p = ch->free;
	ch->free = p;
	if (--ch->used == 0) {
		if (ch->listed)
			unlist_chunk(&partial[ch->class], c);
		give_chunk(c);
	} else if (!ch->listed) {
		list_chunk(&partial[ch->class], c);
	}
}

/* Chunks in use, whole: what nobody else can have. */
unsigned long memorizer_pool_used(void)
{
	return memorizer_pool_bytes - ((unsigned long)chunks_free << CHUNK_SHIFT);
}

bool memorizer_pool_low(void)
{
	return READ_ONCE(chunks_free) < max(nr_chunks / 8, 2U);
}

/* Objects have numbers, so that a reader can walk them and come back. */
unsigned long memorizer_pool_slots(void)
{
	return (unsigned long)nr_chunks * pieces(CLASS_OBJECT);
}

/*
 * The object at @slot or NULL. The caller holds memorizer_mutex, so that no
 * object is given back; a chunk of another class may become one of objects or
 * the reverse, hence the class is read before the number of pieces and after.
 */
struct memorizer_object *memorizer_pool_object(unsigned long slot)
{
	u32 c = slot / pieces(CLASS_OBJECT), i = slot % pieces(CLASS_OBJECT);
	struct chunk *ch = &chunks[c];

	if (smp_load_acquire(&ch->class) != CLASS_OBJECT ||
	    i >= smp_load_acquire(&ch->fresh) ||
	    READ_ONCE(ch->class) != CLASS_OBJECT)
		return NULL;
	return (void *)(pool + ((unsigned long)c << CHUNK_SHIFT) +
			i * class_size[CLASS_OBJECT]);
}
