// SPDX-License-Identifier: BSD-2-Clause
// The address space over time: where live bytes are, and the holes between.
import { byteSplits, chart } from '../chart.js';
import { card, colour, empty, h } from '../dom.js';
import { bytes, clock, count, percent } from '../format.js';

const ROW = 5;
const GAP = 4; // between stretches of addresses that do not touch
const NAME = 13; // a line of text

// Where each row is drawn: a line between rows that are no neighbours.
function places(space) {
	const at = [];
	let y = 0;
	space.from.forEach((a, i) => {
		if (i && BigInt(`0x${a}`) - BigInt(`0x${space.from[i - 1]}`) !== BigInt(space.row_bytes)) y += GAP;
		at.push(y);
		y += ROW;
	});
	return { at, height: y };
}

function paintMap(canvas, space, place) {
	const ratio = devicePixelRatio;
	const width = canvas.clientWidth;
	canvas.width = width * ratio;
	canvas.height = place.height * ratio;
	const c = canvas.getContext('2d');
	c.scale(ratio, ratio);
	const columns = space.cells[0].length;
	const w = width / columns;
	const most = space.cells.reduce((m, r) => r.reduce((n, v) => Math.max(n, v), m), 0);
	for (let r = 0; r < space.cells.length; r++) {
		c.globalAlpha = 1;
		c.fillStyle = colour('hole');
		c.fillRect(0, place.at[r], width, ROW);
		c.fillStyle = colour('accent');
		for (let k = 0; k < columns; k++) {
			const v = space.cells[r][k];
			if (v <= 0) continue;
			c.globalAlpha = 0.12 + 0.88 * Math.sqrt(v / most);
			c.fillRect(Math.round(k * w), place.at[r], Math.round((k + 1) * w) - Math.round(k * w), ROW);
		}
	}
}

// The address at the start of each stretch, where there is room for it.
function names(space, place) {
	let free = 0;
	return h('div', { class: 'map-names', 'aria-hidden': 'true' }, space.from.map((a, i) => {
		const starts = !i || place.at[i] - place.at[i - 1] > ROW;
		if (!starts || place.at[i] < free) return null;
		free = place.at[i] + NAME;
		return h('span', { style: { top: `${place.at[i]}px` } }, a);
	}));
}

function map(rec, time) {
	const space = rec.space;
	const place = places(space);
	const columns = space.cells[0].length;
	const note = h('p', { class: 'details', role: 'status' });
	const canvas = h('canvas', { class: 'map', tabindex: 0, role: 'img',
		'aria-label': `Address space over time: ${count(space.from.length)} stretches of ${bytes(space.row_bytes)}. Arrow keys read it out.` });
	const at = { row: 0, column: columns - 1 };
	canvas.style.setProperty('height', `${place.height}px`);
	const say = () => {
		const v = space.cells[at.row][at.column];
		const then = (at.column + 1) * space.width - space.before;
		note.textContent = `0x${space.from[at.row]}, after ${time(Math.min(then, rec.curve.duration))}: ${bytes(v)} of ${bytes(space.row_bytes)} live (${percent(v, space.row_bytes)})`;
	};
	canvas.addEventListener('mousemove', (ev) => {
		const box = canvas.getBoundingClientRect();
		let r = place.at.findIndex((y) => y + ROW > ev.clientY - box.top);
		if (r < 0) r = place.at.length - 1;
		at.row = r;
		at.column = Math.max(0, Math.min(columns - 1, Math.floor(((ev.clientX - box.left) / box.width) * columns)));
		say();
	});
	canvas.addEventListener('keydown', (ev) => {
		const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[ev.key];
		if (!step) return;
		ev.preventDefault();
		at.row = Math.max(0, Math.min(space.from.length - 1, at.row + step[0]));
		at.column = Math.max(0, Math.min(columns - 1, at.column + step[1]));
		say();
	});
	canvas.addEventListener('focus', say);
	note.textContent = 'Point at the map, or use the arrow keys, to read it.';
	const view = card('Where live bytes are', {},
		h('p', { class: 'note' }, `Each row is a stretch of ${bytes(space.row_bytes)} that was ever used, lowest address first; a line between means that the addresses in between were not. The stronger the colour, the fuller. Time runs to the right.`),
		rec.variables && h('p', { class: 'note', id: 'variables' }, `${rec.variables.objects ? `Left out: ${count(rec.variables.objects)} global ${rec.variables.objects === 1 ? 'variable' : 'variables'} (${bytes(rec.variables.bytes)}), which never come or go. ` : ''}Where one allocator takes its memory from another, both count, and a stretch may be more than full.`),
		h('div', { class: 'map-box' }, names(space, place), canvas,
			h('div', { class: 'map-axis' }, h('span', {}, time(0)), h('span', {}, time(rec.curve.duration)))), note);
	view.redraw = () => paintMap(canvas, space, place);
	requestAnimationFrame(view.redraw);
	return view;
}

function pages(rec, time) {
	const p = rec.pages;
	const size = p.page_bytes;
	const unused = 1 - p.live_at_peak_pages / (p.peak_pages * size || 1);
	return card('Pages and what is in them', {},
		h('p', { class: 'note' }, `At most ${count(p.peak_pages)} pages of ${bytes(size)} (${bytes(p.peak_pages * size)}) hold live blocks; ${(100 * unused).toFixed(1)} % of that is holes. At the end: ${count(p.end_pages)} pages for ${bytes(p.end_bytes)}.`),
		chart({
			label: 'Bytes in pages that hold live blocks, and live bytes, over time',
			data: [p.points.map((x) => x[0]), p.points.map((x) => x[2] * size), p.points.map((x) => x[1])],
			x: time, y: bytes, ySplits: byteSplits, xLabel: 'Time', height: 240,
			series: [{ label: 'In pages', colour: 'peak', fill: 'peak-soft' }, { label: 'Live', colour: 'accent', fill: 'accent-soft' }],
		}));
}

export function space(rec) {
	if (!rec.space) return empty('No addresses', 'This recording names its blocks without addresses, so there is no map of them.');
	const time = clock(rec.clock);
	const m = map(rec, time);
	const view = h('div', { class: 'stack' }, m, rec.pages && pages(rec, time));
	view.redraw = () => m.redraw();
	return view;
}
