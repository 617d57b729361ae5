// SPDX-License-Identifier: BSD-2-Clause
// A current ClickHouse behind the old one's HTTP interface: chdb, the engine as a library.
// node proxy.mjs FOLDER: prints its port.
import { createServer } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { writeFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createRequire } from 'node:module';

const { Session } = createRequire(join(process.cwd(), 'x.js'))('chdb');
const folder = process.argv[2];
const session = new Session(join(folder, 'data'));
let files = 0;

// An INSERT with its rows in the body becomes an INSERT from a file.
function insert(query, body) {
	const file = join(folder, `${++files}.native`);
	writeFileSync(file, body);
	try {
		return session.query(query.replace('FORMAT Native', `SELECT * FROM file('${file}', Native)`), 'TabSeparated');
	} finally {
		unlinkSync(file);
	}
}

const server = createServer((request, response) => {
	const parts = [];
	request.on('data', (part) => parts.push(part));
	request.on('end', () => {
		const params = new URL(request.url, 'http://x').searchParams;
		let body = Buffer.concat(parts);
		try {
			if (request.headers['content-encoding'] === 'gzip') body = gunzipSync(body);
			session.query(`USE ${params.get('database')}`, 'TabSeparated');
			const query = params.get('query');
			const answer = query ? insert(query, body) : session.query(body.toString(), 'TabSeparated');
			response.end(answer ?? '');
		} catch (e) {
			response.statusCode = 500;
			response.end(String(e.message ?? e));
		}
	});
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
