// SPDX-License-Identifier: BSD-2-Clause
// The page of `memorizer html`: a recording at a time, a view at a time.
import { redrawCharts } from './chart.js';
import { readData } from './data.js';
import { card, clear, h } from './dom.js';
import { clock } from './format.js';
import { table } from './table.js';
import { access } from './views/access.js';
import { calls } from './views/calls.js';
import { cpus } from './views/cpus.js';
import { findings } from './views/findings.js';
import { flame } from './views/flame.js';
import { histograms } from './views/histograms.js';
import { index } from './views/index.js';
import { objects } from './views/objects.js';
import { overview } from './views/overview.js';
import { privilege } from './views/privilege.js';
import { space } from './views/space.js';
import { tables } from './views/tables.js';

const tableView = (key, sortBy) => (rec) => card(rec.tables[key].title, { class: 'card wide' }, table(rec.tables[key], { time: clock(rec.clock), sortBy }));
const hasTable = (key) => (rec) => rec.tables && rec.tables[key];

// name in the address, title, is it there, how it is drawn
const VIEWS = [
	['overview', 'Overview', () => true, (rec) => overview(rec, show)],
	['flame', 'Flame graph', (rec) => rec.flames, flame],
	['access', 'Accesses', (rec) => rec.kind === 'kmap', access],
	['calls', 'Calls', (rec) => rec.calls, calls],
	['objects', 'Objects', (rec) => rec.kind === 'kmap', objects],
	['tables', 'Tables', (rec) => rec.kind === 'kmap', tables],
	['privilege', 'Privilege', (rec) => rec.privilege, privilege],
	['sites', 'Call sites', hasTable('sites'), tableView('sites', 'at_peak')],
	['caches', 'Caches', (rec) => rec.kind === 'kernel', tableView('caches', 'at_peak')],
	['histograms', 'Sizes and lifetimes', (rec) => rec.sizes, histograms],
	['space', 'Address space', (rec) => rec.kind !== 'kmap' || rec.space, space],
	['cpus', 'CPUs', (rec) => rec.kind === 'kernel', cpus],
	['findings', 'Inconsistencies', (rec) => rec.inconsistencies, findings],
];

const data = readData();
const state = { rec: 0, view: 'overview', drawn: null };
const panel = h('div', { id: 'panel', role: 'tabpanel', tabindex: -1 });
const tabs = h('div', { role: 'tablist', class: 'tabs', 'aria-label': 'Views' });

/* ---- theme --------------------------------------------------------------- */

const dark = matchMedia('(prefers-color-scheme: dark)');
let theme = null; // as the system has it

function isDark() {
	return theme ? theme === 'dark' : dark.matches;
}

function paintTheme() {
	document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
	themeButton.textContent = isDark() ? 'Light mode' : 'Dark mode';
	redraw();
}

const themeButton = h('button', { type: 'button', class: 'button', id: 'theme',
	onclick: () => { theme = isDark() ? 'light' : 'dark'; paintTheme(); } });
dark.addEventListener('change', paintTheme);

/* ---- views ---------------------------------------------------------------- */

function redraw() {
	redrawCharts();
	if (state.drawn && state.drawn.redraw) state.drawn.redraw();
}

function viewsOf(rec) {
	return VIEWS.filter(([, , there]) => there(rec));
}

function show(view, focus) {
	const rec = data.recordings[state.rec];
	const list = viewsOf(rec);
	const chosen = list.find(([key]) => key === view) || list[0];
	state.view = chosen[0];
	state.drawn = chosen[3](rec);
	clear(panel, state.drawn);
	panel.setAttribute('aria-labelledby', `tab-${state.view}`);
	for (const tab of tabs.children) {
		const on = tab.id === `tab-${state.view}`;
		tab.setAttribute('aria-selected', on);
		tab.tabIndex = on ? 0 : -1;
		if (on) {
			tab.scrollIntoView({ block: 'nearest', inline: 'nearest' });
			if (focus) tab.focus();
		}
	}
	history.replaceState(null, '', `#${state.rec}/${state.view}`);
}

function step(ev) {
	const list = [...tabs.children];
	const at = list.indexOf(document.activeElement);
	const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: list.length - 1 }[ev.key];
	if (to === undefined || at < 0) return;
	ev.preventDefault();
	show(list[(to + list.length) % list.length].id.slice(4), true);
}

function choose(i) {
	state.rec = i;
	const rec = data.recordings[i];
	document.title = `${rec.name} – Memorizer`;
	clear(tabs, viewsOf(rec).map(([key, title]) => h('button', { type: 'button', role: 'tab', id: `tab-${key}`, 'aria-controls': 'panel', onclick: () => show(key) }, title)));
	show(state.view);
}

/* ---- the page ---------------------------------------------------------------- */

const KINDS = { user: 'user program', kernel: 'kernel trace', kmap: 'kernel map' };

function picker() {
	if (data.recordings.length === 1) {
		const rec = data.recordings[0];
		return h('p', { class: 'recording' }, h('span', { class: 'recording-name', title: rec.name }, rec.name), h('span', { class: 'kind' }, KINDS[rec.kind]));
	}
	const list = h('select', { id: 'recording', 'aria-label': 'Recording', onchange: (ev) => choose(Number(ev.target.value)) },
		data.recordings.map((r, i) => h('option', { value: i }, `${r.name} (${KINDS[r.kind]})`)));
	return h('p', { class: 'recording' }, list);
}

function header(middle) {
	return h('header', {}, h('div', { class: 'bar-top' }, h('h1', {}, data.index ? 'Memorizer' : h('span', {}, 'Memorizer')), middle, themeButton));
}

function footer() {
	return h('footer', {}, `Made by memorizer ${data.version}. This page loads nothing and sends nothing.`,
		data.halved > 0 && h('p', {}, `To stay below 5 MB, tables, graphs and curves are ${2 ** data.halved} times coarser than usual. What each leaves out is said with it; sums are exact.`),
		h('details', {}, h('summary', {}, 'Licences'), h('pre', {}, document.getElementById('licences').content.textContent)));
}

function start() {
	const body = document.body;
	if (data.index) {
		document.title = 'Recordings – Memorizer';
		body.prepend(header(h('p', { class: 'recording' })), h('main', {}, index(data)), footer());
		paintTheme();
		return;
	}
	tabs.addEventListener('keydown', step);
	body.prepend(h('a', { class: 'skip', href: '#panel' }, 'Skip to the view'), header(picker()), h('nav', { 'aria-label': 'Views' }, tabs), h('main', {}, panel), footer());
	paintTheme();
	const [, rec, view] = /^#(\d+)\/(\w+)$/.exec(location.hash) || [];
	if (view) state.view = view;
	const first = Number(rec || 0) < data.recordings.length ? Number(rec || 0) : 0;
	const select = document.getElementById('recording');
	if (select) select.value = String(first);
	choose(first);
	document.querySelector('.skip').addEventListener('click', (ev) => { ev.preventDefault(); panel.focus(); });
	let width = innerWidth;
	let waiting = 0;
	addEventListener('resize', () => {
		if (innerWidth === width) return;
		width = innerWidth;
		clearTimeout(waiting);
		waiting = setTimeout(redraw, 100);
	});
}

start();
