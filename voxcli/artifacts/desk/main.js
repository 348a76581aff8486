// Sorting, filters, keys and buttons.
let sorting = "urgency";
let down = false;
let arranged = [];  // all lines in the order of the sorting

function listLines() {
  const line = list.line();
  const order = arranged.filter((place) => matches(lines[place]));
  list.active = 0;
  find("list").hidden = !order.length;  // before rows are measured
  list.set(order);
  list.activate(line && list.at(line) >= 0 ? list.at(line) : 0);
  find("list").setAttribute("aria-rowcount", order.length + 1);
  find("nothing").hidden = order.length > 0;
  find("count").textContent = order.length === lines.length ? counted(lines.length, "line")
    : `${order.length.toLocaleString("en")} of ${counted(lines.length, "line")}`;
  showChips();
  showDesk();
}

function sortBy(name, falling) {
  [sorting, down] = [name, falling];
  arranged = sorted(name, falling);
  listLines();
  for (const head of find("heads").children) {
    if (head.dataset.sort === name) head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
  find("sort").value = name;
  find("direction").textContent = falling ? "\u2193" : "\u2191";
  find("direction").setAttribute("aria-label", falling ? "Descending; sort ascending" : "Ascending; sort descending");
}

function sortByUser(name, falling) {
  sortBy(name, falling);
  say(`Sorted by ${SORTINGS[name].title.toLowerCase()}, ${falling ? "descending" : "ascending"}`);
}

function select(index) {
  const focused = document.activeElement;
  list.activate(index);
  list.reveal();
  if (focused === document.body || find("rows").contains(focused) || !focused.isConnected) focusRow();
  showDesk();
}

function focusRow() {
  if (list.order.length) list.row(list.active).focus({ preventScroll: true });
}

// Go to another line. If a sound is playing, that line is played next.
function go(index) {
  const runs = playing && !sound.paused;
  select(index);
  if (runs && playing.line !== list.line()) {
    sound.pause();
    play(list.line());
  }
}

function choose(line, place) {
  if (place >= line.takes.length) return;
  const runs = playing && playing.line === line && !sound.paused;
  line.shown = place;
  if (runs) play(line);
  showLine(line);
  say(`Take ${line.takes[place].number} of ${line.takes.length}`);
}

function decide(line, act) {
  if (!canPlay(takeOf(line))) return;
  act(line);
  const of = line.takes.length > 1 ? `, take ${takeOf(line).number}` : "";
  say(`${line.id} ${verdictOf(line)}${of}${unkept ? "; this browser keeps no verdicts: save review.json" : ""}`);
  showLine(line);
  showChips();
}

function writeNote() {
  const field = list.row(list.active).querySelector(".note input");
  field.focus();
  field.select();
}

function toggleDetails() {
  const open = find("more").getAttribute("aria-expanded") !== "true";
  find("more").setAttribute("aria-expanded", String(open));
  showDesk();
  list.reveal();
}

const page = () => Math.max(1, Math.floor((list.window().bottom - list.window().top) / list.height) - 1);
const MOVES = {
  ArrowDown: () => go(list.active + 1), ArrowUp: () => go(list.active - 1), PageDown: () => go(list.active + page()),
  PageUp: () => go(list.active - page()), Home: () => go(0), End: () => go(list.order.length - 1),
  ArrowLeft: (line) => seekBy(line, -1), ArrowRight: (line) => seekBy(line, 1), " ": togglePlay,
};
const LETTERS = {
  j: () => go(list.active + 1), k: () => go(list.active - 1), a: (line) => decide(line, approve), r: (line) => decide(line, reject),
  n: writeNote, i: toggleDetails, "/": () => find("search").focus(), "?": () => find("keys").showModal(),
};
for (let digit = 1; digit <= 9; digit++) LETTERS[digit] = (line) => choose(line, digit - 1);

function pressed(event) {
  const { key, target } = event;
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || find("keys").open) return;
  if (target.matches("input:not([type=checkbox]), select")) {
    if (key === "Escape" || (key === "Enter" && target.matches("input"))) {
      event.preventDefault();
      focusRow();
    }
    return;
  }
  const inside = find("rows").contains(target) || target === document.body;
  if (key === "Enter" && target.matches(".row")) {
    event.preventDefault();
    togglePlay(list.line());
    return;
  }
  if (key === " " && target.matches("button, a, input")) return;
  if (target.matches(".seek") && (key === "Home" || key === "End")) {
    event.preventDefault();
    seekTo(list.line(), key === "Home" ? 0 : Infinity);
    return;
  }
  const act = (inside && MOVES[key]) || (find("letters").checked && LETTERS[key]);
  if (!act || !list.line()) return;
  event.preventDefault();
  act(list.line());
}
document.addEventListener("keydown", pressed);

// Rows
find("rows").addEventListener("click", (event) => {
  const row = event.target.closest(".row");
  if (!row) return;
  const line = lines[row.dataset.place];
  list.activate(list.at(line));
  const button = event.target.closest("button");
  const seek = event.target.closest(".seek");
  if (seek) {
    const box = seek.querySelector("svg").getBoundingClientRect();
    seekTo(line, (lengthOf(takeOf(line)) * (event.clientX - box.left)) / box.width);
    play(line);
  } else if (button?.matches(".play")) togglePlay(line);
  else if (button?.matches(".approve")) decide(line, approve);
  else if (button?.matches(".reject")) decide(line, reject);
  else if (button) choose(line, [...button.parentNode.children].indexOf(button));
  // after a click with the mouse, keys are for the line, not for its button
  if (event.detail && !event.target.closest("input")) row.focus({ preventScroll: true });
  showDesk();
});
find("rows").addEventListener("focusin", (event) => {
  const row = event.target.closest(".row");
  const index = row ? list.at(lines[row.dataset.place]) : -1;
  if (index < 0) return;
  if (index !== list.active) list.activate(index);
  list.reveal();
  showDesk();
});
find("rows").addEventListener("input", (event) => {
  note(lines[event.target.closest(".row").dataset.place], event.target.value);
});

// Tools
function fillSelect(id, title, values) {
  const found = [...new Set(values.filter(Boolean))].sort((a, b) => (folded(a) < folded(b) ? -1 : 1));
  if (found.length < 2) return;
  find(id).append(new Option(title, ""), ...found.map((value) => new Option(value)));
  find(id).hidden = false;
  find(id).addEventListener("change", () => {
    filter[id] = find(id).value;
    listLines();
  });
}

function prepare() {
  const characters = lines.some((line) => line.character);
  const hidden = { "no-who": !lines.some((line) => speaker(line) || line.manner), "no-character": !characters, "no-takes": !lines.some((line) => line.takes.length > 1) };
  for (const [name, on] of Object.entries(hidden)) document.documentElement.classList.toggle(name, on);
  if (!characters) SORTINGS.who.title = "Voice";
  const most = Math.min(3, Math.max(...lines.map((line) => line.takes.length)));
  document.documentElement.style.setProperty("--takes", hidden["no-takes"] ? "0" : `${48 * most - 2}px`);
  for (const [name, { title, down: first = false }] of Object.entries(SORTINGS)) {
    if ((name === "who" && hidden["no-who"]) || (name === "takes" && hidden["no-takes"])) continue;
    find("sort").append(new Option(title, name));
    if (name === "urgency") continue;
    const head = part("div", undefined, name);
    head.setAttribute("role", "columnheader");
    head.dataset.sort = name;
    head.append(part("button", title));
    head.firstChild.type = "button";
    head.firstChild.addEventListener("click", () => sortByUser(name, sorting === name ? !down : first));
    find("heads").append(head);
  }
  fillSelect("character", "All characters", lines.map((line) => line.character));
  fillSelect("voice", "All voices", lines.map(voiceOf));
  find("more").setAttribute("aria-expanded", String(innerWidth >= 704));
}

find("sort").addEventListener("change", () => sortByUser(find("sort").value, SORTINGS[find("sort").value].down || false));
find("direction").addEventListener("click", () => sortByUser(sorting, !down));
find("search").addEventListener("input", () => {
  filter.words = find("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  listLines();
});
find("more").addEventListener("click", toggleDetails);
find("help").addEventListener("click", () => find("keys").showModal());
find("close").addEventListener("click", () => find("keys").close());
find("keys").addEventListener("close", () => find("help").focus());

find("save").addEventListener("click", () => {
  const made = document.createElement("a");
  made.href = URL.createObjectURL(new Blob([reviewText()], { type: "application/json" }));
  made.download = "review.json";
  made.click();
  setTimeout(() => URL.revokeObjectURL(made.href), 60000);
  unsaved = false;
  say(`${counted(lines.filter(isReviewed).length, "reviewed line")} saved`);
});
find("load").addEventListener("click", () => find("file").click());
find("file").addEventListener("change", async () => {
  const [file] = find("file").files;
  if (!file) return;
  const message = await file.text().then(readReview).then(
    ({ known, unknown }) => `${counted(known, "reviewed line")} loaded${unknown ? `; ${unknown} not in this run` : ""}`,
    () => `${file.name} is not a review.json`,
  );
  find("file").value = "";
  listLines();
  find("count").textContent = message;
});

addEventListener("storage", (event) => {
  const line = event.key?.startsWith(PREFIX) && lineOf.get(event.key.slice(PREFIX.length));
  if (!line) return;
  restore(line, event.newValue);
  showLine(line);
  showChips();
});
addEventListener("beforeunload", (event) => {
  if (unkept && unsaved) event.preventDefault();
});
addEventListener("scroll", () => list.draw(), { passive: true });
addEventListener("resize", () => list.measure());
new ResizeObserver(() => {
  document.documentElement.style.setProperty("--tools", stuck("tools") ? `${find("tools").offsetHeight}px` : "0px");
}).observe(find("tools"));

prepare();
restoreAll();
showFacts();
sortBy("urgency", false);
