// SPDX-License-Identifier: BSD-2-Clause
// Curves over time, by uPlot: sized by their card, in the colours of the theme.
import uPlot from 'uplot';

import { colour, h } from './dom.js';
import { round } from './format.js';

const live = new Set();

// The theme changed, or the window: all charts that are on the page are made anew.
export function redrawCharts() {
	for (const draw of live) draw();
}

function ticks(u, i, splits, format) {
	return splits.map((v) => (v === null ? '' : round(format(v))));
}

function options(spec, width) {
	const line = colour('grid');
	const font = '12px system-ui, sans-serif';
	const axis = { stroke: colour('muted'), grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font };
	return {
		width,
		height: spec.height || 280,
		padding: [16, 28, 0, 0],
		legend: { show: true, live: true },
		cursor: { y: false },
		scales: { x: { time: false }, y: { range: (u, lo, hi) => [0, (hi || 1) * 1.08] } },
		axes: [
			{ ...axis, space: 90, values: (u, s) => ticks(u, 0, s, spec.x) },
			{ ...axis, size: 72, values: (u, s) => ticks(u, 1, s, spec.y),
				splits: (u, i, lo, hi) => spec.ySplits ? spec.ySplits(hi) : undefined },
		],
		series: [
			{ label: spec.xLabel, value: (u, v) => (v === null ? '–' : spec.x(v)) },
			...spec.series.map((s) => ({
				label: s.label,
				stroke: colour(s.colour),
				fill: s.fill ? colour(s.fill) : undefined,
				width: s.width || 1.5,
				paths: s.stepped ? uPlot.paths.stepped({ align: -1 }) : undefined,
				points: { show: false },
				value: (u, v) => (v === null ? '–' : spec.y(v)),
			})),
		],
		hooks: { draw: [(u) => spec.draw && spec.draw(u)], drawClear: [(u) => spec.behind && spec.behind(u)] },
	};
}

// Steps of a power of two, so that the axis says 2 MiB and not 1.9.
export function byteSplits(hi) {
	let step = 1;
	while (hi / step > 6) step *= 2;
	const list = [];
	for (let v = 0; v <= hi; v += step) list.push(v);
	return list;
}

export function chart(spec) {
	const box = h('div', { class: 'chart', role: 'img', 'aria-label': spec.label });
	let plot = null;
	const draw = () => {
		if (!box.isConnected) {
			live.delete(draw);
			if (plot) plot.destroy();
			plot = null;
			return;
		}
		if (plot) plot.destroy();
		plot = new uPlot(options(spec, Math.max(240, box.clientWidth)), spec.data, box);
	};
	live.add(draw);
	requestAnimationFrame(draw);
	return box;
}

// A mark with words at a point of the curve; the words stay inside.
export function mark(u, x, y, text) {
	const c = u.ctx;
	const ratio = devicePixelRatio;
	const px = u.valToPos(x, 'x', true);
	const py = u.valToPos(y, 'y', true);
	c.save();
	c.fillStyle = c.strokeStyle = colour('peak');
	c.lineWidth = ratio;
	c.setLineDash([4 * ratio, 3 * ratio]);
	c.beginPath();
	c.moveTo(px, py);
	c.lineTo(px, u.bbox.top + u.bbox.height);
	c.stroke();
	c.beginPath();
	c.arc(px, py, 4 * ratio, 0, 2 * Math.PI);
	c.fill();
	c.font = `600 ${12 * ratio}px system-ui, sans-serif`;
	const width = c.measureText(text).width;
	const right = px + 10 * ratio + width < u.bbox.left + u.bbox.width;
	c.textAlign = right ? 'left' : 'right';
	c.textBaseline = 'bottom';
	const tx = right ? px + 8 * ratio : px - 8 * ratio;
	c.lineWidth = 4 * ratio;
	c.setLineDash([]);
	c.strokeStyle = colour('surface');
	c.lineJoin = 'round';
	c.strokeText(text, tx, py - 3 * ratio);
	c.fillText(text, tx, py - 3 * ratio);
	c.restore();
}

// Stretches of time in which events were lost.
export function bands(u, list) {
	const c = u.ctx;
	c.save();
	c.fillStyle = colour('loss-band');
	for (const [from, to] of list) {
		const a = u.valToPos(from, 'x', true);
		const b = u.valToPos(to, 'x', true);
		c.fillRect(a, u.bbox.top, Math.max(2 * devicePixelRatio, b - a), u.bbox.height);
	}
	c.restore();
}
