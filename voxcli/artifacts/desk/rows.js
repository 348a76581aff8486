// A row of the list, and the parts that words and sounds are drawn with.
const WORDS = { failed: "failed", doubtful: "doubtful", warned: "warning", fine: "", pause: "no words" };
const HEIGHT = 36;
const LEVELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const SVG = "http://www.w3.org/2000/svg";

function part(tag, words, kind) {
  const made = document.createElement(tag);
  if (words !== undefined) made.textContent = words;
  if (kind) made.className = kind;
  return made;
}

// The text with the words that the check marked: [start, length, kind], or [start, words that were heard there, kind].
function marked(text, marks) {
  const made = document.createDocumentFragment();
  let at = 0;
  for (const [start, length, kind] of marks) {
    if (start < at) continue;
    const inserted = typeof length === "string";
    const mark = part("mark", inserted ? `${length} ` : text.slice(start, start + length), DATA.kinds[kind]);
    mark.title = DATA.kinds[kind];
    made.append(text.slice(at, start), mark);
    at = inserted ? start : start + length;
  }
  made.append(text.slice(at));
  return made;
}

// Bars from the middle; the width is to scale, but for sounds longer than the scale, which end in a dashed line.
function waveform(take) {
  const picture = document.createElementNS(SVG, "svg");
  const { bars } = take;
  const wave = waveOf(take);
  picture.setAttribute("viewBox", `0 0 ${bars} ${HEIGHT}`);
  picture.setAttribute("preserveAspectRatio", "none");
  picture.setAttribute("aria-hidden", "true");
  picture.style.width = `${Math.max(1, Math.min(100, (100 * take.seconds) / scale)).toFixed(2)}%`;
  let drawn = "";
  for (let bar = 0; bar < bars; bar++) {
    const half = Math.max(0.5, (LEVELS.indexOf(wave[bar]) / 63) * (HEIGHT / 2 - 1));
    drawn += `M${bar + 0.5} ${HEIGHT / 2 - half}v${2 * half}`;
  }
  for (const kind of ["", "heard"]) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", drawn);
    if (kind) path.classList.add(kind);
    picture.append(path);
  }
  return picture;
}

function makeRow(line) {
  const row = find("row").content.firstElementChild.cloneNode(true);
  row.dataset.place = line.place;
  const put = (selector, words) => { row.querySelector(selector).textContent = words; };
  put(".number", line.place + 1);
  put(".id", line.id);
  put(".state", WORDS[line.state]);
  put(".character", line.character);
  put(".voice", voiceOf(line));
  put(".manner", line.manner);
  row.classList.add(line.state);
  row.classList.toggle("single", line.takes.length === 1);
  row.querySelector(".note input").setAttribute("aria-label", `Note for ${line.id}`);
  row.querySelector(".note input").value = reviewOf(line).note;
  if (line.takes.length > 1)
    for (const take of line.takes) {
      const button = part("button", take.number);
      button.type = "button";
      button.tabIndex = -1;
      row.querySelector(".takes").append(button);
    }
  fillRow(row, line);
  return row;
}

// Show what may change: the take that is chosen, the verdict, the note.
function fillRow(row, line) {
  const take = takeOf(line);
  const verdict = verdictOf(line);
  if (row.dataset.shown !== String(line.shown)) {
    row.dataset.shown = line.shown;
    row.querySelector(".text .words").replaceChildren(marked(line.text, take.marks));
    row.querySelector(".remarks").textContent = remarksOf(take).join("; ");
    fillSound(row, line, take);
  }
  line.takes.forEach((each, place) => {
    const button = line.takes.length > 1 && row.querySelector(".takes").children[place];
    if (!button) return;
    const state = approvedTake(line) === each ? "approved" : isRejected(line, each) ? "rejected" : "";
    button.setAttribute("aria-pressed", String(place === line.shown));
    button.className = state === "approved" ? "good" : state === "rejected" ? "bad" : "";
    button.setAttribute("aria-label", `Take ${each.number} of ${line.id}${state && `, ${state}`}`);
  });
  for (const [name, pressed, words] of [
    ["approve", approvedTake(line) === take, "Approve"], ["reject", isRejected(line, take), "Reject"],
  ]) {
    const button = row.querySelector(`.${name}`);
    button.setAttribute("aria-pressed", String(pressed));
    button.setAttribute("aria-label", `${words} ${line.id}`);
    button.title = words;
    button.disabled = !canPlay(take) || take.seed === "";
  }
  const field = row.querySelector(".note input");
  if (document.activeElement !== field) field.value = reviewOf(line).note;
  const facts = [WORDS[line.state], line.character || voiceOf(line), verdict === "open" ? "" : verdict].filter(Boolean);
  row.setAttribute("aria-label", `${line.place + 1} ${line.id}${facts.map((each) => `, ${each}`).join("")}: ${line.text.slice(0, 300)}`);
  fillTime(row, line);
}

function fillSound(row, line, take) {
  const cell = row.querySelector(".sound");
  const seek = cell.querySelector(".seek");
  const there = canPlay(take);
  cell.classList.toggle("none", !there);
  cell.querySelector(".play").hidden = seek.hidden = !there;
  seek.replaceChildren(...(there ? [waveform(take)] : []));
  seek.classList.toggle("long", take.seconds > scale);
  seek.setAttribute("aria-label", `Position in ${line.id}`);
  seek.setAttribute("aria-valuemax", (take.seconds || 0).toFixed(1));
}

// Show the position of the sound, and whether it is playing.
function fillTime(row, line) {
  const take = takeOf(line);
  const there = canPlay(take);
  const current = isPlaying(take);
  const runs = current && !sound.paused;
  const time = row.querySelector(".time");
  const length = lengthOf(take);
  if (!there) {
    time.textContent = line.state === "pause" ? `pause of ${(take.seconds || 0).toFixed(1)} s` : take.link ? "the file is missing or damaged" : "no file";
    return;
  }
  const broken = current && playing.broken;
  time.textContent = broken ? "can't be played" : current ? `${clock(sound.currentTime)} / ${clock(length)}` : `${take.seconds.toFixed(1)} s`;
  row.classList.toggle("playing", runs);
  row.classList.toggle("broken", broken);
  row.querySelector(".play").setAttribute("aria-label", `${runs ? "Pause" : "Play"} ${line.id}`);
  const seek = row.querySelector(".seek");
  seek.setAttribute("aria-valuenow", position(take).toFixed(1));
  seek.setAttribute("aria-valuetext", `${position(take).toFixed(1)} of ${length.toFixed(1)} s`);
  seek.querySelector(".heard").style.setProperty("--heard", `${(100 * position(take)) / (length || 1)}%`);
}
