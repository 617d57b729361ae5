// SPDX-License-Identifier: BSD-2-Clause
// Sums of a profile's columns, and its stacks by name, as pprof-format reads them.
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { createRequire } from 'node:module';

const { Profile } = createRequire(import.meta.url)('pprof-format');
const [dir, file] = process.argv.slice(2);
const p = Profile.decode(zlib.gunzipSync(fs.readFileSync(path.join(dir, file))));
const text = (i) => p.stringTable.strings[Number(i)];
const sums = {};
p.sampleType.forEach((t, i) => {
  sums[text(t.type)] = String(p.sample.reduce((n, s) => n + BigInt(s.value[i]), 0n));
});
const functions = new Map(p.function.map((f) => [String(f.id), f]));
const locations = new Map(p.location.map((l) => [String(l.id), l]));
const mappings = new Set(p.mapping.map((m) => String(m.id)));
const stacks = p.sample.map((s) => s.locationId.map((id) => {
  const l = locations.get(String(id));
  if (l.mappingId && Number(l.mappingId) && !mappings.has(String(l.mappingId))) throw new Error('a mapping is missing');
  return text(functions.get(String(l.line[0].functionId)).name);
}).reverse().join(';'));
console.log(JSON.stringify({ sums, stacks: stacks.sort(), standard: text(p.defaultSampleType) }));
