// SPDX-License-Identifier: BSD-2-Clause
// Is the file valid by speedscope's own schema? Prints the sum of each profile.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const Ajv = require('ajv').default;
const [dir, file] = process.argv.slice(2);
const schema = JSON.parse(fs.readFileSync(new URL('node_modules/speedscope/dist/release/file-format-schema.json', import.meta.url)));
const data = JSON.parse(fs.readFileSync(path.join(dir, file)));
const ajv = new Ajv({ strict: false, allErrors: true });
if (!ajv.validate(schema, data)) {
  console.error(ajv.errorsText());
  process.exit(1);
}
for (const p of data.profiles) {
  if (p.samples.length !== p.weights.length) throw new Error('samples without weights');
  for (const s of p.samples) for (const f of s) if (!data.shared.frames[f]) throw new Error('a frame is missing');
}
console.log(JSON.stringify(Object.fromEntries(data.profiles.map((p) => [p.name, p.weights.reduce((a, b) => a + b, 0)]))));
