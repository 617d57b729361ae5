// SPDX-License-Identifier: BSD-2-Clause
// Makes dist/report.html: script, style and licences in one page, with the mark
// where the program puts its data. node build.mjs [FOLDER]
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const dist = process.argv[2] || join(here, 'dist');
const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

// Both are bundled; names are kept because d3-flame-graph asks for a constructor's.
const bundle = async (entry, out) => (await build({
	entryPoints: [join(here, 'src', entry)], bundle: true, minify: true, keepNames: true, write: false, outfile: out,
	format: 'iife', target: 'es2020', charset: 'ascii', legalComments: 'none', metafile: true, logLevel: 'warning',
}));

const js = await bundle('main.js', 'main.js');
const code = js.outputFiles.find((f) => f.path.endsWith('.js')).text;
const libraryCss = js.outputFiles.filter((f) => f.path.endsWith('.css')).map((f) => f.text).join('');
const own = (await bundle('style.css', 'style.css')).outputFiles[0].text;
const css = readFileSync(join(here, 'node_modules/uplot/dist/uPlot.min.css'), 'utf8') + libraryCss + own;

// The licence of each package that something was taken from.
const packages = [...new Set(Object.keys(js.metafile.inputs).map((p) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(p)?.[1]).filter(Boolean))].sort();
const licences = packages.map((name) => {
	const dir = join(here, 'node_modules', name);
	const about = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'));
	return `${name} ${about.version} (${about.license})\n\n${readFileSync(join(dir, 'LICENSE'), 'utf8').trim()}\n`;
}).join(`\n${'-'.repeat(72)}\n\n`);

if (/<\/script|<!--/i.test(code) || /<\//.test(css)) throw new Error('the bundle cannot stand in a page');
const policy = `default-src 'none'; script-src ${hash(code)}; style-src ${hash(css)}; img-src data:; base-uri 'none'; form-action 'none'`;
const icon = 'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 16 16%22%3E%3Crect width=%2216%22 height=%2216%22 rx=%223%22 fill=%22%230b7a75%22/%3E%3Cpath d=%22M3 12V8h3v4zm4 0V4h3v8zm4 0V6h2v6z%22 fill=%22white%22/%3E%3C/svg%3E';
const escape = (s) => s.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

const page = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Memorizer</title>
<link rel="icon" href="${icon}">
<style>${css}</style>
</head>
<body>
<noscript>This page draws its figures with a script that is part of it; please allow scripts for this file.</noscript>
<template id="licences">${escape(licences)}</template>
<script type="application/json" id="data">@DATA@</script>
<script>${code}</script>
</body>
</html>
`;
if (page.split('@DATA@').length !== 2) throw new Error('the mark for the data must be there once');
mkdirSync(dist, { recursive: true });
writeFileSync(join(dist, 'report.html'), page);
writeFileSync(join(dist, 'LICENSES.txt'), licences);
