// SPDX-License-Identifier: BSD-2-Clause
// The flame graph: which memory, by what; click or Enter to go into a frame.
import flamegraph from 'd3-flame-graph';
import { select } from 'd3-selection';

import { treeOf } from '../data.js';
import { choice, clear, colour, empty, h, searchBox } from '../dom.js';
import { bytes, count, percent } from '../format.js';

const VALUES = [['peak', 'At peak'], ['total', 'In all'], ['never_freed', 'Never freed'], ['temporary', 'Temporary'], ['wasted', 'Wasted'], ['untouched', 'Never touched'], ['reads', 'Reads'], ['writes', 'Writes']];
const UNITS = { temporary: 'blocks', reads: 'reads', writes: 'writes' };
const NOTHING = {
	never_freed: 'Everything was freed.', temporary: 'No block was freed right after it was allocated.',
	wasted: 'The allocator gave exactly what was asked for.', untouched: 'Everything was touched.',
	reads: 'No read was counted.', writes: 'No write was counted.',
};
const CELL = 22;

// A colour from the name: the same name is the same colour everywhere.
function hue(name) {
	let n = 0;
	for (let i = 0; i < name.length; i++) n = (n * 31 + name.charCodeAt(i)) >>> 0;
	return n % 1000 / 1000;
}

function paint(d) {
	const dark = colour('dark') === '1';
	if (d.highlight) return colour('found');
	if (d.data.folded) return colour('folded');
	if (!d.depth) return colour('root');
	const x = hue(d.data.name);
	return dark ? `hsl(${172 + 50 * x} ${30 + 12 * x}% ${30 + 8 * x}%)` : `hsl(${168 + 52 * x} ${42 + 14 * x}% ${76 + 8 * x}%)`;
}

export function flame(rec) {
	const groupings = Object.entries(rec.flames || {});
	if (!groupings.length)
		return empty('No call sites in this recording', 'A flame graph needs call stacks. Record again with stacks:', 'memorizer record --stacks -o trace.cmt -- PROGRAM');
	const valuesOf = (by) => VALUES.filter(([v]) => (v !== 'wasted' || rec.knows_waste) && v in rec.flames[by]);
	const state = { by: groupings[0][0], value: valuesOf(groupings[0][0])[0][0], term: '' };
	const format = (v) => (UNITS[state.value] ? `${count(v)} ${UNITS[state.value]}` : bytes(v));
	const details = h('p', { class: 'details', role: 'status' });
	const found = h('p', { class: 'note', role: 'status' });
	const note = h('p', { class: 'note' });
	const which = h('div');
	const box = h('div', { class: 'flame', role: 'group', 'aria-label': 'Flame graph' });
	const reset = h('button', { type: 'button', class: 'button', onclick: () => { graph.resetZoom(); name(); say(root()); } }, 'Reset zoom');
	let graph = null;
	let all = 0;

	const root = () => select(box).datum();
	const words = (d) => `${d.data.name}: ${format(d.data.value)}, ${percent(d.data.value, all)} of all`;
	const say = (d) => { details.textContent = d ? words(d) : ''; };

	// The frames can be reached and read without a mouse.
	function name() {
		select(box).selectAll('g.frame').each(function (d) {
			this.setAttribute('tabindex', d.depth ? '-1' : '0');
			this.setAttribute('role', 'button');
			this.setAttribute('aria-label', words(d));
		});
	}

	function move(ev) {
		const at = ev.target.closest && ev.target.closest('g.frame');
		if (!at) return;
		const d = select(at).datum();
		const siblings = d.parent ? d.parent.children : [d];
		const i = siblings.indexOf(d);
		const next = { ArrowUp: d.parent, ArrowDown: d.children && d.children[0], ArrowRight: siblings[i + 1], ArrowLeft: siblings[i - 1] }[ev.key];
		if (ev.key === 'Enter' || ev.key === ' ') at.dispatchEvent(new MouseEvent('click', { bubbles: true }));
		else if (ev.key === 'Escape') reset.click();
		else if (!next) return;
		ev.preventDefault();
		const target = next && select(box).selectAll('g.frame').filter((e) => e === next).node();
		if (target) target.focus();
	}

	function search() {
		if (!graph) return;
		if (!state.term) {
			graph.clear();
			found.textContent = '';
		} else {
			graph.search(state.term);
		}
	}

	function draw() {
		const data = treeOf(rec.flames[state.by], state.value);
		const folded = rec.flames[state.by].folded;
		all = data.value;
		note.textContent = `Width is ${UNITS[state.value] ? `the number of ${UNITS[state.value]}` : 'bytes'}: ${format(all)} in all.${folded ? ` ${count(folded)} frames too small to draw are folded into “smaller ones”.` : ''}`;
		clear(box);
		graph = null;
		say(null);
		if (!all) {
			box.append(empty('Nothing here', NOTHING[state.value] || 'No bytes were live.'));
			return;
		}
		graph = flamegraph().width(Math.max(260, box.clientWidth)).cellHeight(CELL).inverted(true)
			.minFrameSize(2).transitionDuration(0).resetHeightOnZoom(true).sort((a, b) => a.data.folded - b.data.folded || b.data.value - a.data.value)
			.setColorMapper(paint).label(words)
			.setSearchMatch((d, term) => d.data.name.toLowerCase().includes(term.toLowerCase()))
			.setSearchHandler((results, sum) => { found.textContent = `${count(results.length)} frames match: ${format(sum)}, ${percent(sum, all)} of all`; })
			.onHover(say).onClick((d) => { say(d); name(); });
		select(box).datum(data).call(graph);
		name();
		say(root());
		search();
	}

	// Not every grouping has every value.
	function offer() {
		const values = valuesOf(state.by);
		if (!values.some(([v]) => v === state.value)) state.value = values[0][0];
		clear(which, choice(rec.kind === 'kmap' ? 'What' : 'Which memory', values, state.value, (v) => { state.value = v; draw(); }));
	}

	offer();
	box.addEventListener('keydown', move);
	box.addEventListener('focusin', (ev) => { const g = ev.target.closest('g.frame'); if (g) say(select(g).datum()); });
	const view = h('div', { class: 'stack' },
		h('div', { class: 'toolbar' },
			which,
			groupings.length > 1 && choice('By', groupings.map(([k, f]) => [k, f.title]), state.by, (v) => { state.by = v; offer(); draw(); })),
		h('div', { class: 'toolbar' }, searchBox('Search frames', (v) => { state.term = v; search(); }), reset, found),
		details, h('div', { class: 'card flush' }, box), note);
	view.redraw = draw;
	requestAnimationFrame(draw);
	return view;
}
