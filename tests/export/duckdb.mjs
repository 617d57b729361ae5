// SPDX-License-Identifier: BSD-2-Clause
// Rows of each query, in JSON: node duckdb.mjs DIR QUERIES; *.parquet are views.
import fs from 'node:fs';
import path from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';

const [dir, file] = process.argv.slice(2);
process.chdir(dir);
const db = await (await DuckDBInstance.create()).connect();
for (const f of fs.readdirSync('.').filter((n) => n.endsWith('.parquet'))) {
  await db.run(`CREATE VIEW "${path.basename(f, '.parquet')}" AS SELECT * FROM '${f}'`);
}
for (const q of fs.readFileSync(file, 'utf8').split(';').map((s) => s.trim()).filter(Boolean)) {
  const rows = (await db.runAndReadAll(q)).getRows();
  console.log(JSON.stringify(rows.map((r) => r.map((v) => (v === null ? null : typeof v === 'string' ? v : String(v))))));
}
