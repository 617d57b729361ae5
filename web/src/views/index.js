// SPDX-License-Identifier: BSD-2-Clause
// The recordings of a folder, as `memorizer serve` lists them.
import { card, empty, h } from '../dom.js';
import { bytes, count } from '../format.js';

const KINDS = { user: 'user program', kernel: 'kernel trace', kmap: 'kernel map' };

export function index(data) {
	if (!data.index.length)
		return empty('No recordings in this folder', 'Make one, and reload this page:', 'memorizer record --stacks -o trace.cmt -- PROGRAM');
	return card(`Recordings in ${data.folder}`, {},
		h('div', { class: 'scroll' }, h('table', {}, h('caption', { class: 'hidden' }, 'Recordings'),
			h('thead', {}, h('tr', {}, ['Name', 'Command', 'Process', 'Events', 'Peak', 'Kind', 'Size', 'Changed'].map((t) => h('th', { scope: 'col' }, t)))),
			h('tbody', {}, data.index.map((e) => h('tr', {},
				h('td', { class: 'name' }, h('a', { href: e.href }, e.name)),
				h('td', { class: 'name' }, e.command ?? ''),
				h('td', { class: 'number' }, e.pid === undefined ? '' : String(e.pid)),
				h('td', { class: 'number' }, e.events === undefined ? '' : count(e.events)),
				h('td', { class: 'number' }, e.peak === undefined ? '' : bytes(e.peak)),
				h('td', {}, (KINDS[e.kind] || e.kind) + (e.files_cut ? ', ends early' : '')),
				h('td', { class: 'number' }, e.bytes === undefined ? 'folder' : bytes(e.bytes)),
				h('td', {}, new Date(e.modified * 1000).toLocaleString())))))));
}
