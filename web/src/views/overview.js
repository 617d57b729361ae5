// SPDX-License-Identifier: BSD-2-Clause
// What a person reads first: what was lost, the figures, the curve, the largest.
import { columnOf } from '../data.js';
import { bands, byteSplits, chart, mark } from '../chart.js';
import { card, h } from '../dom.js';
import { bytes, clock, count, percent } from '../format.js';

export function lossOf(rec) {
	const lost = rec.summary.lost;
	if (rec.kind === 'kmap') return rec.summary.bad_lines + rec.summary.missed_frees.objects + Object.values(rec.loss || {}).reduce((a, b) => a + b, 0);
	return typeof lost === 'object' ? lost.total : lost;
}

// What a map lost is in the recorder's statistics, if they are beside it.
function kmapLoss(s, loss) {
	const said = loss && [[loss.objects_missed, 'objects were missed'], [loss.objects_dropped, 'freed objects were dropped to make room'],
		[loss.accesses_missed, 'accesses were missed'], [loss.accesses_nameless, 'accesses were counted without their process']].filter(([n]) => n);
	return h('div', { class: 'banner bad', role: 'alert' },
		said && said.length > 0 && h('p', {}, h('strong', {}, said.map(([n, what]) => `${count(n)} ${what}`).join('; ')), '. They are not in these figures.'),
		s.missed_frees.objects > 0 && h('p', {}, h('strong', {}, `The frees of ${count(s.missed_frees.objects)} objects were missed`), `: other objects were put over them. When they ended is not known.`),
		s.bad_lines > 0 && h('p', {}, h('strong', {}, `${count(s.bad_lines)} lines`), ' of the map cannot be understood and were left out.'));
}

// Stacks that end early make a flame graph of stubs: that is not a loss, and not nothing.
function shortStacks(rec) {
	const s = rec.stacks;
	if (!s || s.rooted >= 0.99 * s.blocks) return null;
	return h('p', { class: 'banner warn', role: 'status' }, h('strong', {}, `No event was lost, but only ${percent(s.rooted, s.blocks)} of the blocks have a whole call stack.`), ' ',
		`${count(s.blocks - s.rooted)} stacks end before the start of their thread` + (s.cut ? `; ${count(s.cut)} are deeper than the limit of the recording` : '') + (s.guessed ? `; ${count(s.guessed)} have a guessed frame` : '') + '.');
}

// Blocks that stand for others: nothing is lost, and no sum is exact.
function sampling(rec) {
	const s = rec.sampled;
	if (!s) return null;
	return h('p', { class: 'banner warn', role: 'status' }, h('strong', {}, `${count(s.events)} of ${count(s.events + rec.summary.events)} events were left out by sampling: figures are estimates, and the peak is too large rather than too small.`), ' ',
		s.weight ? `Blocks stand for up to ${count(s.weight)}, from ${s.first_seconds.toFixed(1)} s to ${s.last_seconds.toFixed(1)} s.` : '');
}

// A recorder that was stopped, or a file that was cut: nothing before the end is missing, and nothing after it is known.
function earlyEnd(rec, time) {
	const n = rec.summary.files_cut;
	if (!n) return null;
	const place = rec.kind === 'user' ? `, at event ${count(rec.summary.events)}${rec.clock === 'ns' ? `, after ${time(rec.curve.duration)}` : ''}` : '';
	const what = rec.kind === 'kernel' || n > 1 ? `${count(n)} file${n === 1 ? '' : 's'} of the recording end${n === 1 ? 's' : ''} early.` : `The recording ends early${place}.`;
	return h('p', { class: 'banner warn', role: 'alert' }, h('strong', {}, what), ' ',
		'The recorder was stopped, or the file was cut. What came later is unknown, so a block that was never freed need not be a leak.');
}

function loss(rec) {
	const lost = lossOf(rec);
	if (rec.kind === 'kmap' && lost) return kmapLoss(rec.summary, rec.loss);
	if (!lost && rec.summary.files_cut) return sampling(rec) || shortStacks(rec);
	if (rec.kind === 'kmap' && !rec.loss)
		return h('p', { class: 'banner plain', role: 'status' }, h('strong', {}, 'What was lost is not known.'), ' No free was missed and every line of the map is in these figures, but the recorder’s statistics (the .stats file of memorizer vm) are not beside it.');
	const short = shortStacks(rec);
	if (!lost && rec.sampled) return sampling(rec);
	if (!lost && short) return short;
	if (!lost)
		return h('p', { class: 'banner good', role: 'status' }, h('strong', {}, rec.kind === 'kmap' ? 'Nothing was lost.' : 'The recording reports no loss.'), ' ', rec.kind === 'kmap' ? 'No object, access or free was missed, and every line of the map is in these figures.' : 'Every event in it is in these figures.');
	const causes = typeof rec.summary.lost === 'object'
		? Object.entries(rec.summary.lost).filter(([k, v]) => k !== 'total' && typeof v === 'number')
		: causesOf(rec.gaps || []);
	return h('div', { class: 'banner bad', role: 'alert' },
		h('p', {}, h('strong', {}, `${count(lost)} events were lost`), `, ${percent(lost, lost + rec.summary.events)} of all. ${reach(lost, rec.summary.largest_block)}`),
		causes.length > 0 && h('p', {}, causes.map(([k, v]) => `${k}: ${count(v)}`).join(' · ')));
}

// How much a loss can matter: an event is one block, of the largest size at most.
function reach(lost, largest) {
	const blocks = lost === 1 ? 'one block' : `${count(lost)} blocks`;
	return largest ? `Counts below may be off by ${blocks}, live bytes by at most ${bytes(lost * largest)}.` : `Figures below may be off by ${blocks}.`;
}

function causesOf(gaps) {
	const sum = {};
	for (const g of gaps) sum[g.cause] = (sum[g.cause] || 0) + g.events;
	return Object.entries(sum);
}

const figure = (label, main, more, title) => h('div', { class: 'figure' },
	h('dt', {}, label), h('dd', { title }, h('span', { class: 'main' }, main), more && h('span', { class: 'more' }, more)));

function userFigures(rec, time) {
	const s = rec.summary;
	return [
		figure('Peak', bytes(s.peak_bytes), `${count(s.peak_blocks)} blocks, at event ${count(s.peak_event)}`, `${count(s.peak_bytes)} bytes`),
		figure('Allocated in all', bytes(s.bytes), `${count(s.blocks)} blocks`, `${count(s.bytes)} bytes`),
		figure('Never freed', bytes(s.never_freed_bytes), `${count(s.never_freed_blocks)} blocks`, `${count(s.never_freed_bytes)} bytes`),
		figure('Temporary', percent(s.temporary_blocks, s.blocks), `${count(s.temporary_blocks)} blocks, freed before the next allocation`),
		figure('Wasted at the peak', rec.knows_waste ? bytes(s.waste_at_peak) : 'unknown',
			rec.knows_waste ? `${percent(s.waste_at_peak, s.peak_bytes)} given beyond what was asked for` : 'the trace does not say what was given'),
		figure('Events', count(s.events), rec.clock === 'ns' ? `in ${time(rec.curve.duration)}, ${count(s.threads)} thread${s.threads === 1 ? '' : 's'}` : 'without times'),
	];
}

function kernelFigures(rec, time) {
	const s = rec.summary;
	return [
		figure('Peak', bytes(s.highest_given_bytes), `at most ${count(s.highest_blocks)} blocks`, `${count(s.highest_given_bytes)} bytes`),
		figure('Allocated in all', bytes(s.given_bytes), `${count(s.blocks)} blocks`, `${count(s.given_bytes)} bytes`),
		figure('Not freed in the trace', bytes(s.never_freed_given_bytes), `${count(s.never_freed_blocks)} blocks`, `${count(s.never_freed_given_bytes)} bytes`),
		figure('Wasted', bytes(s.waste_bytes), `${percent(s.waste_bytes, s.given_bytes)} given beyond what was asked for`, `${count(s.waste_bytes)} bytes`),
		figure('Freed on another CPU', percent(s.cross_cpu, s.freed_blocks), `${count(s.cross_cpu)} of ${count(s.freed_blocks)} freed blocks`),
		figure('Events', count(s.events), `in ${time(s.duration)}`),
	];
}

function kmapFigures(rec) {
	const s = rec.summary;
	const sum = (label, x) => figure(label, count(x.objects), `objects, ${bytes(x.bytes)}`, `${count(x.bytes)} bytes`);
	return [
		sum('Allocated in all', s.all),
		figure('Live peak', bytes(s.live_peak.bytes), `${count(s.live_peak.objects)} objects`, `${count(s.live_peak.bytes)} bytes`),
		figure('Reads', count(s.reads), `by ${count(s.functions)} functions`),
		figure('Writes', count(s.writes), `at ${count(s.places)} places of code, with the reads`),
		sum('Never touched', s.untouched),
		sum('Written, never read', s.never_read),
		sum('Shared by processes', s.shared_by_processes),
		rec.has_dirs ? sum('Shared by subsystems', s.shared_by_subsystems) : figure('Kinds of objects', count(s.kinds), `${count(s.globals)} are global variables`),
	];
}

export function peakOf(rec) {
	const s = rec.summary;
	if (rec.kind === 'kmap') return { at: rec.curve ? Math.max(0, s.live_peak_time - rec.curve.first) : 0, bytes: s.live_peak.bytes };
	if (rec.kind === 'user') {
		const at = rec.clock === 'ns' ? s.peak_time - rec.curve.first : s.peak_event - rec.curve.first;
		return { at: Math.max(0, at), bytes: s.peak_bytes };
	}
	return { at: s.peak_at, bytes: s.highest_given_bytes };
}

export function gapsOf(rec) {
	const list = rec.gaps || (rec.summary.lost && rec.summary.lost.intervals) || [];
	return list.map((g) => [g.from, g.to]);
}

function curve(rec, time) {
	const c = rec.curve;
	if (!c || !c.live.length || !peakOf(rec).bytes) return null;
	const high = c.high || c.live;
	const x = high.map((_, i) => Math.min((i + 1) * c.width, Math.max(1, c.duration)));
	const peak = peakOf(rec);
	const gaps = gapsOf(rec);
	return card('Live bytes over time', { class: 'card wide' }, chart({
		label: `Live bytes over time. The peak is ${bytes(peak.bytes)} after ${time(peak.at)}.`,
		data: [[0, ...x], [c.base || 0, ...high], ...(c.high ? [[0, ...c.live]] : [])],
		x: time, y: bytes, ySplits: byteSplits, xLabel: 'Time',
		series: [
			{ label: c.high ? 'Most in the interval' : 'Live', colour: 'accent', fill: 'accent-soft' },
			...(c.high ? [{ label: 'At its end', colour: 'muted', width: 1 }] : []),
		],
		behind: (u) => bands(u, gaps),
		draw: (u) => mark(u, peak.at, peak.bytes, `peak ${bytes(peak.bytes)}`),
	}), gaps.length > 0 && h('p', { class: 'note' }, 'Shaded: events were lost there.'));
}

function largest(rec, key, title, goto) {
	const t = key === 'objects' ? rec.objects && rec.objects.table : rec.tables && rec.tables[key];
	if (!t || !t.rows.length) return null;
	const at = columnOf(t, rec.kind === 'kmap' ? 'bytes' : 'at_peak');
	const rows = [...t.rows].sort((a, b) => b[at] - a[at]).slice(0, 8).filter((r) => r[at] > 0);
	if (!rows.length) return null;
	const whole = rec.kind === 'kmap' ? rec.summary.all.bytes : peakOf(rec).bytes;
	return card(title, {},
		h('ol', { class: 'bars' }, rows.map((r) => {
			const bar = h('span', { class: 'bar' });
			bar.style.setProperty('--bar', `${(100 * r[at]) / rows[0][at]}%`);
			return h('li', {}, h('span', { class: 'bar-name', title: r[0] }, r[0]),
				h('span', { class: 'bar-value' }, `${bytes(r[at])} · ${percent(r[at], whole)}`), bar);
		})),
		h('button', { type: 'button', class: 'button', onclick: () => goto(key) }, `All ${t.title.toLowerCase()}`));
}

function noSites(rec) {
	if (rec.kind !== 'user' || !rec.summary.events || (rec.tables && rec.tables.sites)) return null;
	return h('p', { class: 'banner plain' }, 'This trace has no call sites. Record with ', h('code', {}, 'memorizer record --stacks'), ' to see which code allocates.');
}

export function overview(rec, goto) {
	const time = clock(rec.clock);
	const figures = { kernel: kernelFigures, user: userFigures, kmap: kmapFigures }[rec.kind](rec, time);
	return h('div', { class: 'stack' },
		loss(rec),
		earlyEnd(rec, time),
		rec.summary.command && h('p', { class: 'what' }, h('span', {}, 'Command'), h('code', {}, rec.summary.command)),
		rec.summary.kernel && h('p', { class: 'what' }, h('span', {}, 'Kernel'), h('code', {}, rec.summary.kernel)),
		h('dl', { class: `figures of-${figures.length}` }, figures),
		curve(rec, time),
		noSites(rec),
		h('div', { class: 'columns' },
			largest(rec, 'sites', 'Largest call sites at the peak', goto),
			rec.kind !== 'kmap' && largest(rec, 'caches', 'Largest caches at the peak', goto),
			largest(rec, 'objects', 'Largest kinds of objects', goto)),
		rec.modules_missing > 0 && h('p', { class: 'note' }, `${count(rec.modules_missing)} files of the program are gone or changed since: their places have no names.`));
}
