// The details of the active line, counts, announcements, and the table for paper.
const DATE = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const dated = (seconds) => (seconds ? DATE.format(new Date(1000 * seconds)) : "");

function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

function say(words) { find("said").textContent = words; }

function showDesk() {
  const line = list.line();
  find("desk").hidden = !line || find("more").getAttribute("aria-expanded") !== "true";
  if (!line) return;
  const take = takeOf(line);
  const of = line.takes.length > 1 ? `, take ${take.number} of ${line.takes.length}` : "";
  find("desk").className = line.state;
  find("desk-line").textContent = `${line.place + 1} ${line.id}${of}`;
  find("desk-text").replaceChildren(marked(line.text, take.marks));
  find("desk-remarks").replaceChildren(...[...remarksOf(take), ...stale(line)].map((each) => part("li", each)));
  const facts = [
    ["Character", line.character], ["Voice", line.voice], ["Manner", line.manner], ["Recording", line.recording],
    ["Length", take.seconds ? `${take.seconds.toFixed(2)} s` : ""], ["Seed", take.seed],
    ...factsOf(take).map(pair), ["Spoken", dated(take.finished)], ...line.extra.map(pair),
  ].filter(([, value]) => value);
  find("desk-facts").replaceChildren(...facts.map(fact), ...(take.link ? [fact(["File", link(take)])] : []));
}

// What the last verdict was, where its take is no longer there.
function stale(line) {
  const { verdict } = reviewOf(line);
  return verdict && verdictOf(line) === "open" ? [`spoken again since it was ${verdict}`] : [];
}

function pair(words) {
  const at = words.indexOf(": ");
  return [words.slice(0, at), words.slice(at + 2)];
}

function fact([title, value]) {
  const made = document.createElement("div");
  const content = part("dd");
  content.dir = "auto";
  content.append(value);
  made.append(part("dt", title), content);
  return made;
}

function link(take) {
  const made = part("a", decodeURIComponent(take.link.replace(/^.*\//, "")));
  made.href = take.link;
  return made;
}

function showFacts() {
  const seconds = DATA.seconds;
  const length = seconds < 60 ? `${seconds.toFixed(1)} s` : seconds < 3600 ? `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
    : `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
  const last = lines.reduce((latest, line) => Math.max(latest, ...line.takes.map((take) => take.finished)), 0);
  find("facts").textContent = [
    counted(lines.length, "line"), `${length} of audio`, DATA.speed ? `spoken at ${DATA.speed} times real time` : "", DATA.model, dated(last),
  ].filter(Boolean).join(" \u00b7 ");
}

// A filter that can be switched on, with the number of its lines. States without a line are not offered.
function showChips() {
  const states = new Map(), verdicts = new Map(VERDICTS.map((verdict) => [verdict, 0]));
  for (const line of lines) {
    states.set(line.state, (states.get(line.state) || 0) + 1);
    if (line.takes.some(canPlay)) verdicts.set(verdictOf(line), verdicts.get(verdictOf(line)) + 1);
  }
  for (const [group, chosen, names, counts] of [
    ["states", filter.states, { failed: "Failed", doubtful: "Doubtful", warned: "Warnings" }, states],
    ["verdicts", filter.verdicts, { open: "Open", approved: "Approved", rejected: "Rejected" }, verdicts],
  ])
    for (const [name, title] of Object.entries(names)) {
      const chip = find(`only-${name}`) || makeChip(name, title, chosen);
      chip.lastChild.textContent = (counts.get(name) || 0).toLocaleString("en");
      chip.hidden = group === "states" && !counts.get(name);
      chip.setAttribute("aria-pressed", String(chosen.has(name)));
    }
}

function makeChip(name, title, chosen) {
  const chip = part("button", title);
  chip.type = "button";
  chip.id = `only-${name}`;
  chip.append(part("b"));
  chip.addEventListener("click", () => {
    if (!chosen.delete(name)) chosen.add(name);
    listLines();
  });
  find("chips").append(chip);
  return chip;
}

function fillPaper() {
  const heads = ["Line", "Character", "Text", "Length", "Take", "Verdict", "Note", "Remarks"];
  const head = part("thead");
  head.append(part("tr"));
  head.firstChild.append(...heads.map((title) => part("th", title)));
  const body = part("tbody");
  for (const place of list.order) {
    const line = lines[place], take = approvedTake(line) || takeOf(line), row = part("tr");
    const words = part("td");
    words.append(marked(line.text, take.marks));
    const verdict = verdictOf(line);
    row.append(part("td", `${place + 1} ${line.id}`), part("td", [line.character, voiceOf(line), line.manner].filter(Boolean).join(", ")), words,
      part("td", take.seconds ? `${take.seconds.toFixed(1)} s` : ""), part("td", take.number), part("td", verdict === "open" ? "" : verdict),
      part("td", reviewOf(line).note), part("td", [WORDS[line.state], ...remarksOf(take)].filter(Boolean).join("; ")));
    body.append(row);
  }
  find("paper").replaceChildren(head, body);
}
addEventListener("beforeprint", fillPaper);
addEventListener("afterprint", () => find("paper").replaceChildren());
