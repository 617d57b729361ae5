// SPDX-License-Identifier: BSD-2-Clause
// Which code accesses which objects.
import { empty } from '../dom.js';
import { browse, linksOf } from '../net.js';

const VALUES = [['both', 'Reads and writes', (l) => l.reads + l.writes], ['reads', 'Reads', (l) => l.reads], ['writes', 'Writes', (l) => l.writes]];
const WORDS = {
	title: 'Which code accesses which objects',
	lead: (word) => ['Code by ', word, ' (rows) accesses objects by the ', word, ' that allocates them (columns).'],
	units: () => 'accesses',
	caption: (word) => `Accesses by ${word} of the code (rows) and of the objects (columns)`,
	corner: 'code ↓ objects →',
	describe: (from, to, n) => `${from} accesses objects of ${to}: ${n} times`,
};

export function access(rec) {
	if (!rec.access || !rec.access.links.length)
		return empty('No accesses in this map', 'It was recorded without counting them. Record one that has them:', 'memorizer vm --accesses -o map.kmap -- COMMAND');
	return browse(rec, rec.access, linksOf(rec.access, ['reads', 'writes']), { words: WORDS, values: VALUES });
}
