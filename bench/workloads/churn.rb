# SPDX-License-Identifier: BSD-2-Clause
# Hashes of lists of strings.
h = Hash.new { |k, v| k[v] = [] }
60000.times { |i| h[i % 997] << "value #{i}" * 3 }
puts h.values.map { |v| v.join.size }.sum
