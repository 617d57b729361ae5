// SPDX-License-Identifier: BSD-2-Clause
// The object explorer: choose a kind of object, and see what becomes of it.
import { card, clear, empty, h } from '../dom.js';
import { bytes, count, percent } from '../format.js';
import { table } from '../table.js';

// [name, a, b, ...] as a list of bars by one of the two numbers.
function deeds(title, none, list, names, which) {
	const rows = [];
	for (let i = 0; i < list.length; i += 3)
		if (list[i + 1 + which]) rows.push([list[i] ? names[list[i]] : '(others)', list[i + 1 + which]]);
	rows.sort((a, b) => (a[0] === '(others)') - (b[0] === '(others)') || b[1] - a[1]);
	const sum = rows.reduce((a, r) => a + r[1], 0);
	const most = rows.reduce((a, r) => (r[0] === '(others)' ? a : Math.max(a, r[1])), 1);
	return card(title, {}, rows.length ? h('ol', { class: 'bars' }, rows.map(([name, n]) => {
		const bar = h('span', { class: 'bar' });
		bar.style.setProperty('--bar', name === '(others)' ? '0%' : `${(100 * n) / most}%`);
		return h('li', {}, h('span', { class: 'bar-name', title: name }, name), h('span', { class: 'bar-value' }, `${count(n)} · ${percent(n, sum)}`), bar);
	})) : h('p', { class: 'note' }, none));
}

// The members of the structure that a kind is, and who touches them; nothing if it is not known.
function members(rec, row) {
	const { structures, fields } = rec.tables;
	const type = structures && structures.rows.find((t) => t[0] === row[0] && t[1] === row[1]);
	if (!type || !(type[3] || type[4])) return null;
	if (!type[3]) return h('p', { class: 'note' }, `Its structure is ${type[4]}.`);
	const rows = fields.rows.filter((f) => f[0] === type[3]).map((f) => f.slice(1));
	return [h('p', { class: 'note' }, 'It is a ', h('code', {}, type[3]), ` (${type[4]}).`),
		rows.length > 0 && card(`Members of ${type[3]}`, { id: 'members' },
			h('p', { class: 'note' }, 'Of all objects that are one, wherever they are allocated.'),
			table({ title: 'Members', columns: fields.columns.slice(1).map((c) => ({ ...c, plain: c.key === 'offset' || c.key === 'size' })), rows }, { sortBy: 'offset', ascending: true }))];
}

export function objects(rec) {
	const o = rec.objects;
	if (!o || !o.table.rows.length) return empty('No objects', 'The map is empty.');
	const details = h('div', { class: 'stack', id: 'object', tabindex: -1 });
	const id = o.table.columns.length;

	function show(row, focus) {
		const [owned, freed, touched] = o.who[row[id]];
		clear(details,
			h('h2', { class: 'chosen' }, h('code', {}, row[0])),
			h('p', { class: 'note' }, `Allocated at ${row[1]}: ${count(row[2])} objects, ${bytes(row[3])}; ${bytes(row[4])} never freed; ${count(row[5])} never touched; ${count(row[6])} reads, ${count(row[7])} writes.`),
			members(rec, row),
			h('div', { class: 'columns' },
				deeds('Written by', 'It was never written.', touched, o.names, 1), deeds('Read by', 'It was never read.', touched, o.names, 0),
				deeds('Allocated for', 'Not known.', owned, o.names, 0), deeds('Freed by', 'None was freed.', freed, o.names, 0)));
		if (focus) {
			details.focus();
			details.scrollIntoView({ block: 'nearest' });
		}
	}

	show(o.table.rows[0]);
	return h('div', { class: 'stack' },
		card('Objects', {}, h('p', { class: 'note' }, 'Choose a kind of object to see which code allocates, frees, reads and writes it.'),
			table(o.table, { sortBy: 'bytes', step: 12, onpick: (row) => show(row, true) })),
		details);
}
