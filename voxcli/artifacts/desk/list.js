// The list: only the rows in sight exist, each at its place. A browser limits the height of an element, so in a list
// longer than that a pixel of scrolling stands for more than one of the list.
const MAX_HEIGHT = 15e6;  // Firefox allows 17.8 million pixels
const SPARE = 4;  // rows above and below

const list = {
  order: [],  // places of the lines that are listed
  places: null,  // where each line is in `order`; -1: not listed
  active: 0,  // index into `order`
  rows: new Map(),  // index -> element
  height: 96,

  at(line) { return this.places[line.place]; },
  line() { return lines[this.order[this.active]]; },
  whole() { return this.order.length * this.height; },

  // The pixels of the list above the window, and the parts of the window that other things cover.
  window() {
    const top = find("heads").offsetHeight ? find("heads").getBoundingClientRect().bottom : stuck("tools") ? find("tools").offsetHeight : 0;
    const bottom = innerHeight - (find("desk").hidden ? 0 : find("desk").offsetHeight);
    return { top: Math.max(0, top), bottom };
  },

  above() {
    const box = find("rows").getBoundingClientRect();
    const scrolled = -box.top;
    const room = box.height - innerHeight, wanted = this.whole() - innerHeight;
    const ratio = this.whole() > box.height && room > 0 ? wanted / room : 1;
    return { scrolled, ratio, first: ratio === 1 ? scrolled : Math.max(0, Math.min(room, scrolled)) * ratio };
  },

  set(order) {
    this.order = order;
    this.places = new Int32Array(lines.length).fill(-1);
    order.forEach((place, index) => { this.places[place] = index; });
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
    this.measure();
  },

  measure() {
    const probe = document.createElement("div");
    probe.style.height = "var(--row)";
    find("list").append(probe);
    this.height = probe.offsetHeight;
    probe.remove();
    find("rows").style.height = `${Math.min(this.whole(), MAX_HEIGHT)}px`;
    this.draw();
  },

  draw() {
    const { scrolled, ratio, first } = this.above();
    const from = Math.max(0, Math.floor(first / this.height) - SPARE);
    const to = Math.min(this.order.length, Math.ceil((first + innerHeight) / this.height) + SPARE);
    for (const [index, row] of this.rows)
      if ((index < from || index >= to) && index !== this.active) {
        row.remove();
        this.rows.delete(index);
      }
    const wanted = [];
    for (let index = from; index < to; index++) wanted.push(index);
    if (this.order.length && (this.active < from || this.active >= to)) wanted.push(this.active);
    for (const index of wanted) {
      const row = this.row(index);
      const shift = ratio === 1 ? 0 : Math.max(0, scrolled) - first;
      row.style.transform = `translateY(${index * this.height + shift}px)`;
    }
  },

  row(index) {
    const there = this.rows.get(index);
    if (there) return there;
    const row = makeRow(lines[this.order[index]]);
    row.setAttribute("aria-rowindex", index + 2);
    this.rows.set(index, row);
    this.mark(index, row);
    let after = null;  // rows are in order for those who read the page from top to bottom
    let nearest = Infinity;
    for (const [other, element] of this.rows)
      if (other > index && other < nearest && element.parentNode) [nearest, after] = [other, element];
    find("rows").insertBefore(row, after);
    return row;
  },

  // Of all rows, Tab stops at the active one and its buttons only.
  mark(index, row) {
    const active = index === this.active;
    row.setAttribute("aria-selected", String(active));
    row.tabIndex = active ? 0 : -1;
    for (const each of row.querySelectorAll("button, .seek, input")) each.tabIndex = active ? 0 : -1;
  },

  activate(index) {
    this.active = Math.max(0, Math.min(this.order.length - 1, index));
    this.draw();
    for (const [each, row] of this.rows) this.mark(each, row);
  },

  // Scroll so that the active row is in sight, between what covers the window above and below.
  reveal() {
    if (!this.order.length) return;
    const { ratio, first, scrolled } = this.above();
    const { top, bottom } = this.window();
    const y = this.active * this.height;
    const offset = ratio === 1 ? 0 : Math.max(0, -scrolled);  // the list begins inside the window
    if (y - first < top - offset) scrollBy(0, (y - first - top) / ratio);
    else if (y + this.height - first > bottom) scrollBy(0, (y + this.height - first - bottom) / ratio);
    this.draw();
  },
};

const stuck = (id) => getComputedStyle(find(id)).position === "sticky";
const rowOf = (line) => list.rows.get(list.at(line));

function showLine(line) {
  const row = rowOf(line);
  if (row) fillRow(row, line);
  if (line === list.line()) showDesk();
}

function showTime() {
  const row = playing && rowOf(playing.line);
  if (row && takeOf(playing.line) === playing.take) fillTime(row, playing.line);
}
