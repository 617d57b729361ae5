// SPDX-License-Identifier: BSD-2-Clause
// Numbers as people read them.

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

export function bytes(v) {
	let u = 0;
	let x = Math.abs(v);
	while (x >= 1024 && u < units.length - 1) {
		x /= 1024;
		u++;
	}
	return `${v < 0 ? '−' : ''}${u ? x.toFixed(x < 10 ? 2 : 1) : x} ${units[u]}`;
}

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
export const count = (v) => grouped.format(v);

// 12 k, 3.4 M: where there is little room.
export function compact(n) {
	for (const [size, unit] of [[1e9, 'G'], [1e6, 'M'], [1e4, 'k']])
		if (n >= size) return `${(n / (unit === 'k' ? 1e3 : size)).toFixed(unit === 'k' ? 0 : 1)} ${unit}`;
	return count(n);
}

export function percent(part, whole) {
	if (!whole) return '–';
	const p = (100 * part) / whole;
	return `${p >= 10 || p === 0 ? p.toFixed(1) : p >= 0.1 ? p.toFixed(1) : p >= 0.01 ? p.toFixed(2) : '< 0.01'} %`;
}

export function duration(ns) {
	for (const [size, unit] of [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs']])
		if (Math.abs(ns) >= size) return `${(ns / size).toFixed(ns / size < 10 ? 2 : 1)} ${unit}`;
	return `${Math.round(ns)} ns`;
}

// On an axis: 2 s, not 2.00 s.
export const round = (text) => text.replace(/(\.\d*?)0+(?=\s)/, '$1').replace(/\.(?=\s)/, '');

// Of a recording whose clock counts ns, events, or the kernel's ticks.
export function clock(kind) {
	if (kind === 'ns') return duration;
	if (kind === 'tick') return (v) => `${count(v)} ticks`;
	return (v) => `${count(v)} events`;
}

export function value(unit, v, time) {
	if (v === null || v === undefined) return '–';
	if (unit === 'bytes') return bytes(v);
	if (unit === 'count') return count(v);
	if (unit === 'time') return time(v);
	if (unit === 'share') return `${(100 * v).toFixed(1)} %`;
	return String(v);
}

// What stands in the tooltip: the number itself.
export function exact(unit, v) {
	if (v === null || v === undefined) return 'not known';
	return unit === 'bytes' ? `${count(v)} bytes` : unit === 'time' ? `${count(v)}` : count(v);
}
