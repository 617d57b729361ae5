// SPDX-License-Identifier: BSD-2-Clause
// Objects of arrays, JSON, and buffers that zlib allocates.
const zlib = require('zlib');
const h = {};
for (let i = 0; i < 200000; i++) (h[i % 997] ||= []).push('value ' + i);
const s = JSON.stringify(h);
console.log(s.length, zlib.gunzipSync(zlib.gzipSync(s)).length);
