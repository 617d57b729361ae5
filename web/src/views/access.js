// SPDX-License-Identifier: BSD-2-Clause
// Which code accesses which objects: directory by directory, and on to files and functions.
import { card, choice, clear, empty, h } from '../dom.js';
import { compact, count, percent } from '../format.js';
import { heat } from '../heat.js';

const LEVELS = ['directory', 'file', 'function'];
const MOST = 16; // rows and columns that are shown by name
const OTHERS = '(others)';
const VALUES = [['both', 'Reads and writes'], ['reads', 'Reads'], ['writes', 'Writes']];

// Flat columns become links between names.
function linksOf(access) {
	const name = (node, level) => access.names[access.nodes[3 * node + level]];
	const list = [];
	for (let i = 0; i < access.links.length; i += 4)
		list.push({ from: access.links[i], to: access.links[i + 1], reads: access.links[i + 2], writes: access.links[i + 3] });
	return { list, name };
}

function largest(sums) {
	const names = [...sums].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([n]) => n);
	return names.length > MOST ? [...names.slice(0, MOST - 1), OTHERS] : names;
}

function matrixOf(links, level, within, value) {
	const rows = new Map();
	const columns = new Map();
	const cells = new Map();
	const add = (map, key, v) => map.set(key, (map.get(key) || 0) + v);
	for (const l of links.list) {
		if (level && (links.name(l.from, level - 1) !== within.from[level - 1] || links.name(l.to, level - 1) !== within.to[level - 1])) continue;
		if (level > 1 && (links.name(l.from, 0) !== within.from[0] || links.name(l.to, 0) !== within.to[0])) continue;
		const v = value === 'both' ? l.reads + l.writes : l[value];
		const from = links.name(l.from, level);
		const to = links.name(l.to, level);
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

export function access(rec) {
	if (!rec.access || !rec.access.links.length)
		return empty('No accesses in this map', 'It was recorded without counting them. Record one that has them:', 'memorizer vm --accesses -o map.kmap -- COMMAND');
	const links = linksOf(rec.access);
	const first = rec.has_dirs ? 0 : 2;
	const state = { level: first, value: 'both', from: [], to: [] };
	const box = h('div');
	const way = h('p', { class: 'way', role: 'status' });
	const note = h('p', { class: 'note' });
	const all = links.list.reduce((a, l) => a + l.reads + l.writes, 0);

	// Without folders there is nothing to go down from: functions at once.
	const within = () => (rec.has_dirs ? state : { from: ['', ''], to: ['', ''] });

	function back(level) {
		state.level = level;
		state.from.length = state.to.length = level;
		draw();
	}

	function draw() {
		const m = rec.has_dirs || state.level < 2 ? matrixOf(links, state.level, within(), state.value)
			: matrixOf({ ...links, name: (n) => links.name(n, 2) }, 0, null, state.value);
		const word = LEVELS[state.level];
		clear(way, 'Code by ', word, ' (rows) accesses objects by the ', word, ' that allocates them (columns).',
			state.level > first && [' In ', state.from.slice(-1)[0], ' → ', state.to.slice(-1)[0], '. ',
				h('button', { type: 'button', class: 'button', onclick: () => back(state.level - 1) }, `Back to ${LEVELS[state.level - 1] === 'directory' ? 'directories' : 'files'}`)]);
		note.textContent = `${count(m.sum)} accesses here, ${percent(m.sum, state.value === 'both' ? all : links.list.reduce((a, l) => a + l[state.value], 0))} of all; ${count(m.all)} × ${count(m.owners)} by name.${rec.access.folded ? ` ${count(rec.access.folded)} of the least pairs of functions are folded within their directories.` : ''}`;
		clear(box, heat({
			caption: `Accesses by ${word} of the code (rows) and of the objects (columns)`, corner: 'code ↓ objects →',
			rows: m.rows, columns: m.columns, cells: m.cells, format: compact,
			describe: (r, c, v) => `${m.rows[r]} accesses objects of ${m.columns[c]}: ${count(v)} times`,
			onpick: state.level < 2 ? (r, c) => {
				if (m.rows[r] === OTHERS || m.columns[c] === OTHERS) return;
				state.from[state.level] = m.rows[r];
				state.to[state.level] = m.columns[c];
				state.level++;
				draw();
			} : null,
		}));
	}

	draw();
	return h('div', { class: 'stack' },
		h('div', { class: 'toolbar' }, choice('Count', VALUES, state.value, (v) => { state.value = v; draw(); })),
		card('Which code accesses which objects', {}, way, box, note,
			!rec.has_dirs && h('p', { class: 'note' }, 'The directories are not known: they need --symbols with a vmlinux that has DWARF.')));
}
