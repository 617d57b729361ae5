// SPDX-License-Identifier: GPL-2.0
/*
 * Called by the compiler before each access, and by memcpy() and similar
 * functions.
 *
 * One call is one count, whatever the size. The count goes to the object that
 * contains the first byte. An atomic or compound read-modify-write is one read
 * and one write.
 */
#include <linux/export.h>
#include <linux/instruction_pointer.h>
#include <linux/string.h>

#include "access.h"
#include "memorizer.h"

DEFINE_STATIC_KEY_FALSE(memorizer_marked_key);
bool memorizer_counting;
EXPORT_SYMBOL(memorizer_counting);
DEFINE_STATIC_KEY_FALSE(memorizer_counting_key);
EXPORT_SYMBOL(memorizer_counting_key);

void __tsan_read1(void *addr);
void __tsan_read1(void *addr)
{
	if (unlikely(memorizer_counting))
		memorizer_access((unsigned long)addr, _RET_IP_, MEMORIZER_READ);
}
EXPORT_SYMBOL(__tsan_read1);

void __tsan_write1(void *addr);
void __tsan_write1(void *addr)
{
	if (unlikely(memorizer_counting))
		memorizer_access((unsigned long)addr, _RET_IP_, MEMORIZER_WRITE);
}
EXPORT_SYMBOL(__tsan_write1);

void __tsan_read_write1(void *addr);
void __tsan_read_write1(void *addr)
{
	if (unlikely(memorizer_counting))
		memorizer_access((unsigned long)addr, _RET_IP_, MEMORIZER_READ_WRITE);
}
EXPORT_SYMBOL(__tsan_read_write1);

void __tsan_read_range(void *addr, long size);
void __tsan_read_range(void *addr, long size)
{
	if (unlikely(memorizer_counting) && size)
		memorizer_access_range((unsigned long)addr, size, _RET_IP_, MEMORIZER_READ);
}
EXPORT_SYMBOL(__tsan_read_range);

void __tsan_write_range(void *addr, long size);
void __tsan_write_range(void *addr, long size)
{
	if (unlikely(memorizer_counting) && size)
		memorizer_access_range((unsigned long)addr, size, _RET_IP_, MEMORIZER_WRITE);
}
EXPORT_SYMBOL(__tsan_write_range);

/* The size does not matter: one function serves all sizes. */
#define SAME_AS(name, of)						\
	void name(void *addr);						\
	void name(void *addr) __alias(of);				\
	EXPORT_SYMBOL(name)

#define ALL_SAME_AS(name)						\
	SAME_AS(name##2, name##1);					\
	SAME_AS(name##4, name##1);					\
	SAME_AS(name##8, name##1);					\
	SAME_AS(name##16, name##1)

#define UNALIGNED_SAME_AS(prefix, name, of)				\
	SAME_AS(prefix##name##1, of);					\
	SAME_AS(prefix##name##2, of);					\
	SAME_AS(prefix##name##4, of);					\
	SAME_AS(prefix##name##8, of);					\
	SAME_AS(prefix##name##16, of)

ALL_SAME_AS(__tsan_read);
ALL_SAME_AS(__tsan_write);
ALL_SAME_AS(__tsan_read_write);
UNALIGNED_SAME_AS(__tsan_unaligned_, read, __tsan_read1);
UNALIGNED_SAME_AS(__tsan_unaligned_, write, __tsan_write1);
UNALIGNED_SAME_AS(__tsan_unaligned_, read_write, __tsan_read_write1);
UNALIGNED_SAME_AS(__tsan_volatile_, read, __tsan_read1);
UNALIGNED_SAME_AS(__tsan_volatile_, write, __tsan_write1);
UNALIGNED_SAME_AS(__tsan_unaligned_volatile_, read, __tsan_read1);
UNALIGNED_SAME_AS(__tsan_unaligned_volatile_, write, __tsan_write1);

/* Each object file has a constructor that calls this. */
void __tsan_init(void);
void __tsan_init(void)
{
}
EXPORT_SYMBOL(__tsan_init);

void *memorizer_memcpy(void *to, const void *from, size_t n);
void *memorizer_memcpy(void *to, const void *from, size_t n)
{
	if (unlikely(memorizer_counting) && n) {
		memorizer_access_range((unsigned long)from, n, _RET_IP_, MEMORIZER_READ);
		memorizer_access_range((unsigned long)to, n, _RET_IP_, MEMORIZER_WRITE);
	}
	return __memcpy(to, from, n);
}
EXPORT_SYMBOL(memorizer_memcpy);

void *memorizer_memmove(void *to, const void *from, size_t n);
void *memorizer_memmove(void *to, const void *from, size_t n)
{
	if (unlikely(memorizer_counting) && n) {
		memorizer_access_range((unsigned long)from, n, _RET_IP_, MEMORIZER_READ);
		memorizer_access_range((unsigned long)to, n, _RET_IP_, MEMORIZER_WRITE);
	}
	return __memmove(to, from, n);
}
EXPORT_SYMBOL(memorizer_memmove);

void *memorizer_memset(void *to, int c, size_t n);
void *memorizer_memset(void *to, int c, size_t n)
{
	if (unlikely(memorizer_counting) && n)
		memorizer_access_range((unsigned long)to, n, _RET_IP_, MEMORIZER_WRITE);
	return __memset(to, c, n);
}
EXPORT_SYMBOL(memorizer_memset);
