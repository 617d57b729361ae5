// SPDX-License-Identifier: BSD-2-Clause
/* For the compiler: templates, and headers of which each is long. */
#include <algorithm>
#include <iostream>
#include <map>
#include <regex>

template <int N> struct F {
	static std::map<std::string, std::vector<int>> m;
	static int f(int x)
	{
		m[std::to_string(N)].push_back(x);
		return F<N - 1>::f(x) + N;
	}
};
template <> struct F<0> {
	static int f(int x) { return x; }
};
template <int N> std::map<std::string, std::vector<int>> F<N>::m;

int main()
{
	std::regex r("a+b");

	std::cout << F<20>::f(3) << std::regex_match("aab", r);
}
