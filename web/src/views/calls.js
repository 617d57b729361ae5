// SPDX-License-Identifier: BSD-2-Clause
// Which code calls which, with the accesses of both.
import { card, h } from '../dom.js';
import { browse, LEVELS, linksOf } from '../net.js';
import { table } from '../table.js';

const VALUES = [['calls', 'Calls', (l) => l.calls], ['edges', 'Call sites', (l) => l.edges]];
const WORDS = {
	title: 'Which code calls which',
	lead: (word) => ['Code by ', word, ' (rows) calls functions by ', word, ' (columns).'],
	units: (key) => (key === 'calls' ? 'calls' : 'call sites'),
	caption: (word) => `Calls by ${word} of the caller (rows) and of the function that is called (columns)`,
	corner: 'caller ↓ called →',
	describe: (from, to, n, key) => (key === 'calls' ? `${from} calls ${to}: ${n} times` : `${from} calls ${to}: at ${n} call sites`),
};
const COLUMNS = [
	{ key: 'from', title: 'Caller', unit: 'text' }, { key: 'to', title: 'Called', unit: 'text' },
	{ key: 'edges', title: 'Call sites', unit: 'count' }, { key: 'calls', title: 'Calls', unit: 'count' },
	{ key: 'from_reads', title: 'Reads of the caller', unit: 'count' }, { key: 'from_writes', title: 'Writes of the caller', unit: 'count' },
	{ key: 'to_reads', title: 'Reads of the called', unit: 'count' }, { key: 'to_writes', title: 'Writes of the called', unit: 'count' },
];

// Functions of one name in two files are two.
const keyOf = (links, node, level) => [...Array(level + 1).keys()].map((l) => links.name(node, l)).join('\n');

// What the code does by itself, by its name at each level.
function deedsOf(net, links) {
	const sums = LEVELS.map(() => new Map());
	for (let i = 0; i < net.deeds.length; i += 3)
		sums.forEach((map, level) => {
			const key = keyOf(links, net.deeds[i], level);
			const was = map.get(key) || [0, 0];
			map.set(key, [was[0] + net.deeds[i + 1], was[1] + net.deeds[i + 2]]);
		});
	return sums;
}

function pairs(list, level, links, deeds) {
	const rows = new Map();
	for (const l of list) {
		const from = keyOf(links, l.from, level);
		const to = keyOf(links, l.to, level);
		const key = `${from}\n\n${to}`;
		const none = [0, 0];
		const row = rows.get(key) || [links.name(l.from, level), links.name(l.to, level), 0, 0,
			...(deeds[level].get(from) || none), ...(deeds[level].get(to) || none)];
		row[2] += l.edges;
		row[3] += l.calls;
		rows.set(key, row);
	}
	return [...rows.values()];
}

export function calls(rec) {
	const links = linksOf(rec.calls, ['edges', 'calls']);
	const deeds = deedsOf(rec.calls, links);
	const counted = rec.access && rec.access.links.length;
	const below = (list, level) => card(`Calls by ${LEVELS[level]}, and what both access`, { id: 'pairs' },
		h('p', { class: 'note' }, counted ? `Reads and writes are the total of each ${LEVELS[level]}, no matter which code calls it.` : 'The map has no accesses: it was recorded without counting them.'),
		table({ title: 'Calls', columns: counted ? COLUMNS : COLUMNS.slice(0, 4), rows: pairs(list, level, links, deeds) }, { sortBy: 'calls' }));
	return browse(rec, rec.calls, links, { words: WORDS, values: VALUES, below });
}
