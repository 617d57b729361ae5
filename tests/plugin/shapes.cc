// SPDX-License-Identifier: BSD-2-Clause
// C++: classes, references, exceptions, a container of the standard library.
#include <cstdio>
#include <stdexcept>
#include <vector>

extern "C" char plugin_counting;

class shape
{
	int sides;

public:
	explicit shape(int n) : sides(n) {}
	virtual ~shape() {}
	virtual int count() const { return sides; }
	int &get() { return sides; }
};

__attribute__((noinline)) int ask(const shape &s)
{
	if (s.count() < 0)
		throw std::runtime_error("negative");
	return s.count();
}

__attribute__((noinline)) int sum(const std::vector<int> &v)
{
	int n = 0;

	for (int i : v)
		n += i;
	return n;
}

int main()
{
	shape *good = new shape(4), *bad = new shape(-1);
	std::vector<int> v(100, 2);
	int n = 0;

	plugin_counting = 1;
	n += ask(*good);
	try {
		n += ask(*bad);
	} catch (const std::exception &) {
		n += 1000;
	}
	n += sum(v);
	plugin_counting = 0;
	std::printf("%d\n", n);
	delete good;
	delete bad;
}
