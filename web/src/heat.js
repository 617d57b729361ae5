// SPDX-License-Identifier: BSD-2-Clause
// A matrix as a table whose cells have a colour: who does what to whom.
import { h } from './dom.js';

// The colour goes with the logarithm: counts differ by orders of magnitude.
export function strength(v, most) {
	return v && most ? 0.06 + (0.44 * Math.log1p(v)) / Math.log1p(most) : 0;
}

export function heat({ caption, corner, rows, columns, cells, format, describe, onpick }) {
	const most = cells.reduce((m, r) => r.reduce((n, v) => Math.max(n, v), m), 0);
	const cell = (r, c) => {
		const v = cells[r][c];
		const s = strength(v, most);
		const td = h('td', { class: 'heat', title: describe(r, c, v) });
		td.style.setProperty('--heat', s.toFixed(3));
		if (onpick && v) td.append(h('button', { type: 'button', 'aria-label': describe(r, c, v), onclick: () => onpick(r, c) }, format(v)));
		else td.append(v ? format(v) : h('span', { class: 'zero' }, '·'));
		return td;
	};
	return h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `${caption}, table` },
		h('table', { class: 'matrix' },
			h('caption', { class: 'hidden' }, caption),
			h('thead', {}, h('tr', {}, h('th', { scope: 'col', class: 'corner' }, corner),
				columns.map((c) => h('th', { scope: 'col', title: c }, h('span', {}, c))))),
			h('tbody', {}, rows.map((name, r) => h('tr', {},
				h('th', { scope: 'row', title: name }, h('span', {}, name)), columns.map((_, c) => cell(r, c)))))));
}
