// SPDX-License-Identifier: BSD-2-Clause
// The tables of a KMAP, one at a time.
import { card, choice, clear, h } from '../dom.js';
import { clock } from '../format.js';
import { table } from '../table.js';

const WORDS = {
	matrix: 'Accesses, and the objects that they touch, by the code that makes them and the code that allocated.',
	shared: 'Kinds with objects that more than one subsystem, process or context touched.',
	unused: 'Kinds with objects that were allocated for nothing: never touched, or written and never read.',
	structures: 'Which structure the objects of an allocation site are, and how that is known. Where several come into question, none is taken.',
	fields: 'Members of structures, and the functions that read and write them. Code that touches several members at once has a row for these.',
};

export function tables(rec) {
	const list = Object.entries(rec.tables).filter(([, t]) => t.rows.length);
	const box = h('div');
	const show = (key) => {
		const t = rec.tables[key];
		const numbers = t.columns.filter((c) => c.unit !== 'text').map((c) => c.key);
		const sortBy = ['bytes', 'accesses', 'objects'].find((k) => numbers.includes(k)) || numbers[0];
		clear(box, card(t.title, {}, WORDS[key] && h('p', { class: 'note' }, WORDS[key]), table(t, { time: clock(rec.clock), sortBy })));
	};
	show(list[0][0]);
	return h('div', { class: 'stack' },
		h('div', { class: 'toolbar' }, choice('Table', list.map(([key, t]) => [key, t.title]), list[0][0], show)), box);
}
