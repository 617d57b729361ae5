// SPDX-License-Identifier: BSD-2-Clause
// The data of the page.

export function readData() {
	return JSON.parse(document.getElementById('data').textContent);
}

// Columns of numbers become nodes with children, for one of the values.
export function treeOf(flame, value) {
	const values = flame[value];
	const nodes = values.map((v, i) => ({
		name: i ? (flame.name[i] ? flame.names[flame.name[i]] : '(smaller ones, folded)') : 'all',
		folded: i > 0 && !flame.name[i], value: v, children: [],
	}));
	for (let i = 1; i < nodes.length; i++)
		if (nodes[i].value > 0) nodes[flame.parent[i]].children.push(nodes[i]);
	for (const n of nodes) n.children.sort((a, b) => a.folded - b.folded || b.value - a.value);
	return nodes[0];
}

export function columnOf(table, key) {
	return table.columns.findIndex((c) => c.key === key);
}
