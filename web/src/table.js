// SPDX-License-Identifier: BSD-2-Clause
// A table that sorts by any column and finds rows by their text.
import { clear, h, searchBox } from './dom.js';
import { count, exact, value } from './format.js';

const STEP = 50;

function sorter(column, index, down) {
	if (column.unit === 'text')
		return (a, b) => (down ? -1 : 1) * String(a[index]).localeCompare(String(b[index]));
	return (a, b) => (down ? -1 : 1) * ((a[index] ?? -1) - (b[index] ?? -1));
}

// The bar behind a number: its share of the largest one in the column.
function cell(column, v, most, time) {
	if (column.unit === 'text') return h('td', { class: 'name', title: v }, h('span', {}, v));
	const td = h('td', { class: 'number', title: exact(column.unit, v) }, h('span', {}, value(column.unit, v, time)));
	td.style.setProperty('--bar', most && v ? `${((100 * v) / most).toFixed(2)}%` : '0%');
	return td;
}

// The caller of a call site stands under it, not beside: names are long.
function under(columns) {
	return columns.length > 1 && columns[1].key === 'caller' ? 1 : -1;
}

// onpick(row): a row was chosen, by mouse or by the button in its first cell.
export function table(spec, { time, sortBy, ascending, onpick, search = true, step = STEP } = {}) {
	let by = Math.max(0, spec.columns.findIndex((c) => c.key === sortBy));
	let down = !ascending && spec.columns[by].unit !== 'text';
	let shown = step;
	let term = '';
	const most = spec.columns.map((c, i) => (c.unit === 'text' || c.plain ? 0 : spec.rows.reduce((m, r) => Math.max(m, r[i] || 0), 0)));
	const second = under(spec.columns);
	const columns = spec.columns.map((c, i) => [c, i]).filter(([, i]) => i !== second);
	const body = h('tbody');
	const head = h('tr');
	const note = h('p', { class: 'note', role: 'status' });
	const more = h('button', { type: 'button', class: 'button', onclick: () => { shown += 4 * step; fill(); } });

	function rows() {
		const words = term.toLowerCase().split(/\s+/).filter(Boolean);
		const list = spec.rows.filter((r) => words.every((w) => r.some((v) => typeof v === 'string' && v.toLowerCase().includes(w))));
		return list.sort(sorter(spec.columns[by], by, down));
	}

	function fill() {
		const list = rows();
		clear(body, list.slice(0, shown).map((r) => {
			const tr = h('tr', {}, columns.map(([c, i]) => cell(c, r[i], most[i], time)));
			if (second > 0 && r[second]) tr.firstChild.append(h('span', { class: 'from', title: r[second] }, `${spec.columns[second].title === 'Called from' ? 'from' : 'at'} ${r[second]}`));
			if (onpick) {
				const first = tr.firstChild;
				first.replaceChild(h('button', { type: 'button', class: 'pick', onclick: () => onpick(r) }, r[0]), first.firstChild);
			}
			return tr;
		}));
		if (!list.length) body.append(h('tr', {}, h('td', { class: 'none', colspan: columns.length }, term ? `Nothing matches “${term}”.` : 'There are no rows.')));
		more.hidden = list.length <= shown;
		more.textContent = `Show more (${count(list.length - Math.min(shown, list.length))} left)`;
		const folded = spec.folded ? ` ${count(spec.folded)} smaller ones are not in this page.` : '';
		note.textContent = `${count(Math.min(shown, list.length))} of ${count(list.length)} ${term ? 'matching ' : ''}rows.${folded}`;
		[...head.children].forEach((th, i) => th.setAttribute('aria-sort', columns[i][1] !== by ? 'none' : down ? 'descending' : 'ascending'));
	}

	clear(head, columns.map(([c, i]) => h('th', { scope: 'col', class: c.unit === 'text' ? 'name' : 'number' },
		h('button', { type: 'button', onclick: () => {
			down = i === by ? !down : c.unit !== 'text';
			by = i;
			fill();
		} }, c.title))));
	fill();
	return h('div', { class: 'table' },
		h('div', { class: 'toolbar' },
			search && searchBox(`Search ${spec.title.toLowerCase()}`, (v) => { term = v; shown = step; fill(); }), note),
		h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `${spec.title}, table` },
			h('table', {}, h('caption', { class: 'hidden' }, spec.title), h('thead', {}, head), body)),
		more);
}
