// SPDX-License-Identifier: GPL-2.0
/*
 * Accesses to many bytes that the plugin does not see: copies from and to user
 * memory, memcpy() and similar functions. Each is one count, at the caller, for
 * the object that contains the first byte.
 */
#include <linux/export.h>
#include <linux/instruction_pointer.h>
#include <linux/memorizer-checks.h>
#include <linux/string.h>

#include "access.h"
#include "memorizer.h"

DEFINE_STATIC_KEY_FALSE(memorizer_marked_key);
bool memorizer_counting;
EXPORT_SYMBOL(memorizer_counting);
DEFINE_STATIC_KEY_FALSE(memorizer_counting_key);
EXPORT_SYMBOL(memorizer_counting_key);

void memorizer_read_range(const volatile void *addr, size_t size)
{
	if (unlikely(memorizer_counting) && size)
		memorizer_access_range((unsigned long)addr, size, _RET_IP_, MEMORIZER_READ);
}
EXPORT_SYMBOL(memorizer_read_range);

void memorizer_write_range(const volatile void *addr, size_t size)
{
	if (unlikely(memorizer_counting) && size)
		memorizer_access_range((unsigned long)addr, size, _RET_IP_, MEMORIZER_WRITE);
}
EXPORT_SYMBOL(memorizer_write_range);

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
