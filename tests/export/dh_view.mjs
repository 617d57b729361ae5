// SPDX-License-Identifier: BSD-2-Clause
// Valgrind's viewer itself, in a page that only remembers what is put into it: it
// checks the file, builds its tree and draws it. Prints the sums of its root.
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';

const [dir, file, viewer] = process.argv.slice(2);

class Element {
  constructor(name) {
    this.nodeName = name;
    this.childNodes = [];
    this.classList = { add() {}, remove() {}, contains: () => false, toggle() {} };
    this.style = {};
    this.textContent = '';
  }
  appendChild(kid) { this.childNodes.push(kid); kid.parentNode = this; return kid; }
  append(kid) { return this.appendChild(kid); }
  replaceChild(kid, old) { this.childNodes[this.childNodes.indexOf(old)] = kid; kid.parentNode = this; return old; }
  removeChild(kid) { this.childNodes.splice(this.childNodes.indexOf(kid), 1); return kid; }
  replaceChildren(...kids) { this.childNodes = kids; }
  cloneNode() { return new Element(this.nodeName); }
  setAttribute() {}
  addEventListener() {}
  get firstChild() { return this.childNodes[0] ?? null; }
  get lastChild() { return this.childNodes[this.childNodes.length - 1] ?? null; }
  get options() { return this.childNodes; }
  set onclick(f) {}
}
const text = (e) => e.textContent + e.childNodes.map(text).join('');
const document = {
  createElement: (name) => new Element(name),
  createTextNode: (t) => Object.assign(new Element('#text'), { textContent: t }),
  body: new Element('body'),
  location: { search: '' },
};
const context = vm.createContext({ document, console, URLSearchParams, performance });
// its variables are not those of the page: ask for them from inside
const source = `${fs.readFileSync(viewer, 'utf8')}
globalThis.open_ = (json) => { onLoad(); gSelect.selectedIndex = 0; gData = JSON.parse(json); buildTree(); displayTree(); return gRoot; };`;
vm.runInContext(source, context, { filename: viewer });
const root = context.open_(fs.readFileSync(path.join(dir, file), 'utf8'));
const drawn = text(document.body);
console.log(JSON.stringify({
  bytes: root._totalBytes, blocks: root._totalBlocks, peak: root._atTGmaxBytes, live: root._atTEndBytes,
  reads: root._readsBytes, writes: root._writesBytes, drawn: drawn.length,
}));
