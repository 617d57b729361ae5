// SPDX-License-Identifier: BSD-2-Clause
// How much code could touch, by cut; the cut that was found, its domains, and who would lose what.
import { card, clear, h } from '../dom.js';
import { compact, count, percent } from '../format.js';
import { heat } from '../heat.js';
import { table } from '../table.js';

const ratio = (v) => v.toFixed(v < 0.001 ? 7 : 4);
const LEVELS = { topdir: 'Top folder', dir: 'Folder', file: 'File', function: 'Function' };

function bars(p) {
	const rows = [...p.psr.map((r) => [LEVELS[r.cut], r.domains, r.psr]), ['The cut that was found', p.cut.domains, p.cut.psr]];
	const most = Math.max(...rows.map((r) => r[2]));
	return h('ul', { class: 'bars', id: 'psr' }, rows.map(([name, domains, psr]) => {
		const bar = h('span', { class: 'bar' });
		bar.style.setProperty('--bar', `${most ? ((100 * psr) / most).toFixed(2) : 0}%`);
		return h('li', {}, h('span', { class: 'bar-name' }, name), h('span', { class: 'bar-value' }, `PSR ${ratio(psr)} · ${count(domains)} domains`), bar);
	}));
}

const SVG = 'http://www.w3.org/2000/svg';
function svg(tag, attrs, ...children) {
	const e = document.createElementNS(SVG, tag);
	for (const [k, v] of Object.entries(attrs)) e.setAttribute(k, v);
	e.append(...children);
	return e;
}

// Privilege (up) against the cost of crossings (right).
function curve(p) {
	const width = 640;
	const height = 260;
	const points = p.curve;
	const cost = Math.max(1, p.baseline.cost, ...points.map((c) => c.cost));
	const psr = Math.max(p.baseline.psr, ...points.map((c) => c.psr)) || 1;
	const x = (v) => 40 + ((width - 60) * v) / cost;
	const y = (v) => height - 30 - ((height - 50) * v) / psr;
	const mark = (point, name) => svg('g', { class: 'curve-mark' }, svg('circle', { cx: x(point.cost), cy: y(point.psr), r: 5 }), svg('text', { x: Math.min(x(point.cost) + 8, width - 90), y: y(point.psr) - 6 }, name));
	return svg('svg', { viewBox: `0 0 ${width} ${height}`, class: 'curve', role: 'img', 'aria-label': `Privilege against cost: from PSR ${ratio(points[0].psr)} at ${compact(points[0].cost)} cycles to ${ratio(points[points.length - 1].psr)} at ${compact(points[points.length - 1].cost)}` },
		svg('line', { x1: 40, y1: height - 30, x2: width - 20, y2: height - 30, class: 'curve-axis' }),
		svg('line', { x1: 40, y1: 20, x2: 40, y2: height - 30, class: 'curve-axis' }),
		svg('text', { x: width - 20, y: height - 10, 'text-anchor': 'end' }, `cost of crossings, to ${compact(cost)} cycles`),
		svg('text', { x: 46, y: 16 }, `PSR, to ${ratio(psr)}`),
		svg('polyline', { class: 'curve-line', points: points.map((c) => `${x(c.cost)},${y(c.psr)}`).join(' ') }),
		mark(p.baseline, 'by folder'), mark(p.cut, 'found'));
}

// Domains, and on to their functions and objects.
function domains(p) {
	const n = p.domains.length;
	const names = p.domains.map((d) => d.name);
	const cells = names.map((_, i) => p.matrix.slice(i * n, (i + 1) * n));
	const box = h('div', { id: 'domain' });
	const list = (title, all, of) => card(title, {}, h('p', { class: 'note' }, `${count(all.length)} of ${count(of)}`), h('p', { class: 'members' }, all.map((m) => [h('code', {}, m), ' '])));
	const open = (i) => clear(box, h('h3', { class: 'chosen' }, p.domains[i].name),
		h('div', { class: 'columns' }, list('Functions', p.domains[i].functions, p.domains[i].n_functions), list('Objects', p.domains[i].objects, p.domains[i].n_objects)));
	const spec = { title: 'Domains', columns: [{ key: 'name', title: 'Domain', unit: 'text' }, { key: 'functions', title: 'Functions', unit: 'count' }, { key: 'code', title: 'Code', unit: 'bytes' }, { key: 'objects', title: 'Objects', unit: 'count' }, { key: 'data', title: 'Data', unit: 'bytes' }],
		rows: p.domains.map((d) => [d.name, d.n_functions, d.code, d.n_objects, d.data]), folded: p.cut.domains - n };
	return card('Domains of the cut', {},
		heat({ caption: 'Accesses of the code of a domain (rows) to objects of a domain (columns)', corner: 'code ↓ objects →', rows: names, columns: names, cells, format: compact,
			describe: (r, c, v) => `${names[r]} accesses objects of ${names[c]}: ${count(v)} times`, onpick: (r) => open(r) }),
		table(spec, { sortBy: 'functions', onpick: (row) => open(names.indexOf(row[0])), search: false }), box);
}

export function privilege(rec) {
	const p = rec.privilege;
	return h('div', { class: 'stack' },
		card('Privilege by cut', {}, h('p', { class: 'note' }, `PSR: the bytes that live code can reach, of those that it could reach without a cut (W^X; each object open to the domain that uses it most).${p.has_calls ? '' : ' The map has no calls: reads, writes and frees only.'}`), bars(p)),
		card('Privilege against cost', {}, h('p', { class: 'note', id: 'found' }, `The cut that was found has ${count(p.cut.domains)} domains, PSR ${ratio(p.cut.psr)}, and ${count(p.cut.accesses_across)} of ${count(p.cut.accesses)} accesses (${percent(p.cut.accesses_across, p.cut.accesses)}) cross a boundary. By folder: ${count(p.baseline.domains)} domains, PSR ${ratio(p.baseline.psr)}, ${count(p.baseline.accesses_across)} accesses.`), curve(p)),
		domains(p),
		card('Who would lose access to what', {}, h('p', { class: 'note' }, 'Accesses to objects of another domain, which the cut checks or denies.'), table(p.lost, { sortBy: 'accesses' })));
}
