// SPDX-License-Identifier: BSD-2-Clause
// How large blocks are, and how long they live: a bar for each doubling.
import { card, empty, h } from '../dom.js';
import { bytes, clock, compact, count, percent, round } from '../format.js';

// step: times that differ by less are recorded as the same.
function range(i, format, step) {
	if (!i && step > 1) return `less than ${format(step)}`;
	const from = i ? 2 ** i : 0;
	const to = 2 ** (i + 1);
	return `${round(`${format(from)} `)}– ${round(`${format(to)} `)}`;
}

// A long stretch of nothing is one row.
function rowsOf(doublings) {
	const rows = doublings.map((n, i) => ({ n, from: i, to: i }));
	while (rows.length > 1 && !rows[0].n) rows.shift();
	return rows.reduce((list, r) => {
		const last = list[list.length - 1];
		if (last && !r.n && !last.n) last.to = r.to;
		else list.push(r);
		return list;
	}, []);
}

function histogram(title, what, data, exact, short = exact, step = 0) {
	if (!data || !data.count) return card(title, {}, empty('Nothing to count', what));
	const format = (v) => (v < step ? `less than ${exact(step)}` : exact(v));
	const used = rowsOf(data.doublings);
	const most = Math.max(...data.doublings);
	return card(title, {},
		h('p', { class: 'note' }, `${count(data.count)} blocks; half are at most ${format(data.median)}, 99 % at most ${format(data.p99)}, the most is ${format(data.max)}.`),
		h('table', { class: 'histogram' }, h('caption', { class: 'hidden' }, title),
			h('thead', { class: 'hidden' }, h('tr', {}, h('th', { scope: 'col' }, 'Range'), h('th', { scope: 'col' }, 'Blocks'), h('th', { scope: 'col' }, 'Share'))),
			h('tbody', {}, used.map(({ n, from, to }) => {
				const bar = h('span', { class: 'bar' });
				bar.style.setProperty('--bar', `${((100 * n) / most).toFixed(2)}%`);
				return h('tr', {}, h('th', { scope: 'row' }, from === to ? range(from, short, step) : 'nothing between'), h('td', { class: 'bar-cell' }, bar, h('span', { class: 'hidden' }, count(n))),
					h('td', { class: 'number' }, count(n)), h('td', { class: 'number' }, n ? percent(n, data.count) : '–'));
			}))));
}

export function histograms(rec) {
	return h('div', { class: 'columns' },
		histogram('Sizes', 'No block was allocated.', rec.sizes, bytes),
		histogram(rec.clock === 'ns' ? 'Lifetimes' : `Lifetimes in ${rec.clock === 'tick' ? 'ticks' : 'events'}`, 'No block was freed in this recording.', rec.ages, clock(rec.clock), rec.clock === 'ns' ? undefined : compact, rec.resolution));
}
