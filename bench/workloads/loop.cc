// SPDX-License-Identifier: BSD-2-Clause
/* Maps of strings in a tight loop. */
#include <cstdio>
#include <map>
#include <string>
#include <vector>

int main()
{
	size_t n = 0;

	for (int r = 0; r < 300; r++) {
		std::map<std::string, std::vector<int>> m;

		for (int i = 0; i < 1000; i++)
			m["a key that is long enough " + std::to_string(i)].push_back(i);
		n += m.size();
	}
	printf("%zu\n", n);
}
