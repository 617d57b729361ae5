// SPDX-License-Identifier: BSD-2-Clause
// Making elements. Text only ever becomes text: names in a recording are hostile.

export function h(tag, attrs, ...children) {
	const e = document.createElement(tag);
	for (const [key, value] of Object.entries(attrs || {})) {
		if (value === undefined || value === null || value === false) continue;
		if (key.startsWith('on')) e.addEventListener(key.slice(2), value);
		else if (key === 'style') for (const [k, v] of Object.entries(value)) e.style.setProperty(k, v);
		else e.setAttribute(key, value === true ? '' : String(value));
	}
	e.append(...children.flat(Infinity).filter((c) => c !== undefined && c !== null && c !== false));
	return e;
}

export function clear(e, ...children) {
	e.replaceChildren(...children.flat(Infinity).filter((c) => c !== undefined && c !== null && c !== false));
	return e;
}

let ids = 0;
export const newId = (what) => `${what}-${++ids}`;

// A view that has nothing to show says why, and what to do.
export function empty(title, text, command) {
	return h('div', { class: 'empty' },
		h('p', { class: 'empty-title' }, title),
		h('p', {}, text),
		command && h('code', { class: 'command' }, command));
}

export function card(title, attrs, ...children) {
	const id = newId('card');
	return h('section', { class: 'card', 'aria-labelledby': id, ...attrs },
		h('h2', { id }, title), children);
}

// One of several, as buttons: radio buttons, so that arrow keys work by themselves.
export function choice(label, options, chosen, onchange) {
	const name = newId('choice');
	return h('fieldset', { class: 'choice' },
		h('legend', {}, label),
		options.map(([value, text]) => {
			const id = newId('option');
			return h('span', {},
				h('input', { type: 'radio', name, id, value, checked: value === chosen,
					onchange: () => onchange(value) }),
				h('label', { for: id }, text));
		}));
}

export function searchBox(label, oninput) {
	return h('input', { type: 'search', class: 'search', 'aria-label': label, placeholder: label,
		autocomplete: 'off', spellcheck: 'false', oninput: (ev) => oninput(ev.target.value) });
}

// Colours of the style sheet, for what is drawn on a canvas.
export function colour(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
