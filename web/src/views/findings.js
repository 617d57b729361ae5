// SPDX-License-Identifier: BSD-2-Clause
// What does not add up in a kernel trace, by how sure it is.
import { card, empty, h } from '../dom.js';
import { count } from '../format.js';
import { table } from '../table.js';

export function findings(rec) {
	const classes = Object.entries(rec.inconsistencies || {});
	const any = classes.some(([, whats]) => Object.keys(whats).length);
	if (!any) return empty('Everything adds up', 'Each free has its allocation, in the right cache, once.');
	const rows = (rec.findings || []).map((f) => [f.what, f.class, f.where, f.where2, f.cache, f.cache2, `0x${f.address}`]);
	return h('div', { class: 'stack' },
		h('div', { class: 'columns' }, classes.filter(([, w]) => Object.keys(w).length).map(([name, whats]) => card(name, {},
			h('dl', { class: 'pairs' }, Object.entries(whats).map(([k, v]) => h('div', {}, h('dt', {}, k), h('dd', {}, count(v)))))))),
		card('Single cases', {}, table({
			title: 'Single cases', rows,
			columns: [['what', 'What'], ['class', 'Class'], ['site', 'Allocated or first freed by'], ['site2', 'Done by'], ['cache', 'Cache'], ['cache2', 'Other cache'], ['address', 'Address']]
				.map(([key, title]) => ({ key, title, unit: 'text' })),
		})));
}
