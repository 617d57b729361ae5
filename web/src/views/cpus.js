// SPDX-License-Identifier: BSD-2-Clause
// Which CPU frees what which CPU allocated.
import { card, empty, h } from '../dom.js';
import { count, percent } from '../format.js';
import { heat } from '../heat.js';

export function cpus(rec) {
	const m = rec.cpus;
	if (!m) return empty('No CPUs', 'This recording does not say on which CPU memory was allocated and freed.');
	const names = m.matrix.map((_, i) => (m.group > 1 ? `${i * m.group}–${Math.min(m.count, (i + 1) * m.group) - 1}` : String(i)));
	const all = m.matrix.flat().reduce((a, b) => a + b, 0);
	const same = m.matrix.reduce((a, r, i) => a + r[i], 0);
	return card('Allocated on one CPU, freed on another', {},
		h('p', { class: 'note' }, `${count(all)} blocks whose allocation and free are both known; ${percent(same, all)} stay ${m.group > 1 ? 'within their group' : 'on their CPU'}.${m.group > 1 ? ` CPUs are shown in groups of ${m.group}.` : ''}`),
		heat({
			caption: 'Blocks by allocating CPU (rows) and freeing CPU (columns)', corner: 'allocated ↓ freed →',
			rows: names.map((n) => `CPU ${n}`), columns: names.map((n) => `CPU ${n}`), cells: m.matrix, format: count,
			describe: (r, c, v) => `allocated on CPU ${names[r]}, freed on CPU ${names[c]}: ${count(v)} blocks`,
		}));
}
