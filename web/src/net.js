// SPDX-License-Identifier: BSD-2-Clause
// Links between functions as a matrix: directory by directory, and on to files and functions.
import { card, choice, clear, h } from './dom.js';
import { compact, count, percent } from './format.js';
import { heat } from './heat.js';

export const LEVELS = ['directory', 'file', 'function'];
const MOST = 16; // rows and columns that are shown by name
const OTHERS = '(others)';

// Flat columns become links between nodes, with two counts by the names given.
export function linksOf(net, [a, b]) {
	const name = (node, level) => net.names[net.nodes[3 * node + level]];
	const list = [];
	for (let i = 0; i < net.links.length; i += 4)
		list.push({ from: net.links[i], to: net.links[i + 1], [a]: net.links[i + 2], [b]: net.links[i + 3] });
	return { list, name };
}

function largest(sums) {
	const names = [...sums].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([n]) => n);
	return names.length > MOST ? [...names.slice(0, MOST - 1), OTHERS] : names;
}

function matrixOf(list, names, value) {
	const rows = new Map();
	const columns = new Map();
	const cells = new Map();
	const add = (map, key, v) => map.set(key, (map.get(key) || 0) + v);
	for (const l of list) {
		const v = value(l);
		const [from, to] = names(l);
		add(rows, from, v);
		add(columns, to, v);
		add(cells, `${from}\n${to}`, v);
	}
	const r = largest(rows);
	const c = largest(columns);
	const grid = r.map(() => c.map(() => 0));
	for (const [key, v] of cells) {
		const [from, to] = key.split('\n');
		const i = r.indexOf(from);
		const k = c.indexOf(to);
		grid[i < 0 ? r.length - 1 : i][k < 0 ? c.length - 1 : k] += v;
	}
	return { rows: r, columns: c, cells: grid, all: rows.size, owners: columns.size, sum: [...rows.values()].reduce((a, b) => a + b, 0) };
}

// words: title, lead(level), units, caption(level), corner, describe(from, to, n); values: [key,
// title, value of a link]; below(list, level): what stands under the matrix, of the links shown.
export function browse(rec, net, links, { words, values, below }) {
	const first = rec.has_dirs ? 0 : 2; // without folders: functions at once
	const state = { level: first, value: values[0], from: [], to: [] };
	const box = h('div');
	const under = h('div');
	const way = h('p', { class: 'way', role: 'status' });
	const note = h('p', { class: 'note' });

	const inside = (l) => !rec.has_dirs || state.from.every((name, level) => links.name(l.from, level) === name && links.name(l.to, level) === state.to[level]);

	function back(level) {
		state.level = level;
		state.from.length = state.to.length = level;
		draw();
	}

	function pick(from, to) {
		if (from === OTHERS || to === OTHERS) return;
		state.from[state.level] = from;
		state.to[state.level] = to;
		state.level++;
		draw();
	}

	function draw() {
		const [, , value] = state.value;
		const list = links.list.filter(inside);
		const m = matrixOf(list, (l) => [links.name(l.from, state.level), links.name(l.to, state.level)], value);
		const word = LEVELS[state.level];
		clear(way, words.lead(word),
			state.level > first && [' In ', state.from.slice(-1)[0], ' → ', state.to.slice(-1)[0], '. ',
				h('button', { type: 'button', class: 'button', onclick: () => back(state.level - 1) }, `Back to ${LEVELS[state.level - 1] === 'directory' ? 'directories' : 'files'}`)]);
		note.textContent = `${count(m.sum)} ${words.units(state.value[0])} here, ${percent(m.sum, links.list.reduce((a, l) => a + value(l), 0))} of all; ${count(m.all)} × ${count(m.owners)} by name.${net.folded ? ` ${count(net.folded)} of the least pairs of functions are folded within their directories.` : ''}`;
		clear(box, heat({
			caption: words.caption(word), corner: words.corner, rows: m.rows, columns: m.columns, cells: m.cells, format: compact,
			describe: (r, c, v) => words.describe(m.rows[r], m.columns[c], count(v), state.value[0]),
			onpick: state.level < 2 ? (r, c) => pick(m.rows[r], m.columns[c]) : null,
		}));
		if (below) clear(under, below(list, state.level));
	}

	draw();
	return h('div', { class: 'stack' },
		h('div', { class: 'toolbar' }, choice('Count', values.map(([key, title]) => [key, title]), state.value[0], (key) => { state.value = values.find((v) => v[0] === key); draw(); })),
		card(words.title, {}, way, box, note,
			!rec.has_dirs && h('p', { class: 'note' }, 'The directories are not known: they need --symbols with a vmlinux that has DWARF.')),
		below && under);
}
