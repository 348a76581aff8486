// The lines, read from the page's JSON, and verdicts about them.
const find = (id) => document.getElementById(id);
const DATA = JSON.parse(find("data").textContent);
find("data").remove();
const NONE = [];
const { names, scale, waves } = DATA;
let wavesRead = 0;

function readTake(values) {
  const [number, link, seconds, seed, bars, finished, digest, facts, remarks, marks] = values;
  const start = wavesRead;
  wavesRead += bars || 0;
  return { number, link: link || "", seconds: seconds || 0, seed: seed || "", start, bars: bars || 0, finished: finished || 0,
    digest: digest || "", facts: facts || 0, remarks: remarks || 0, marks: marks || NONE };
}

const digests = (takes) => takes.map((take) => take.digest).filter(Boolean);
const waveOf = (take) => waves.substr(take.start, take.bars);
const factsOf = (take) => (take.facts ? names[take.facts].split("\n") : NONE);
const remarksOf = (take) => (take.remarks ? names[take.remarks].split("\n") : NONE);

function readLine([id, text, state, takes, character, voice, manner, recording, extra, recorded, best], place) {
  takes = takes.map(readTake);
  recorded = readRecorded(recorded, takes);
  return { place, id, text, state: DATA.states[state], takes, character: names[character || 0], voice: names[voice || 0],
    manner: names[manner || 0], recording: names[recording || 0], extra: extra || NONE, shown: 0, best: best || 0, recorded, review: recorded };
}

// A review of an earlier round, as the results have it.
function readRecorded(recorded, takes) {
  if (!recorded || !recorded.length) return null;
  const [take, seeds, note] = recorded;
  const approved = takes.find((each) => each.number === take);
  const rejected = takes.find((each) => seeds.includes(each.seed));
  const about = approved || rejected;
  const heard = digests(takes.filter((each) => each === approved || seeds.includes(each.seed)));
  return { verdict: approved ? "approved" : rejected ? "rejected" : "", take: about ? about.number : 0, seed: approved ? approved.seed : "", seeds, note, heard };
}

const lines = DATA.lines.map(readLine);
DATA.lines = null;
const lineOf = new Map(lines.map((line) => [line.id, line]));
const takeOf = (line) => line.takes[line.shown];
const canPlay = (take) => take.bars > 0;

// What is kept of a line's review, in the browser and in review.json: a verdict about a take, the seeds of rejected
// takes, a note, and the digests of the files that were heard: a line that is spoken again may keep its seeds. Seeds are
// strings here, because they may be larger than a number of JavaScript can hold exactly.
const blank = () => ({ verdict: "", take: 0, seed: "", seeds: [], note: "", heard: [] });
const reviewOf = (line) => line.review || blank();
const isHeard = (line, take) => !reviewOf(line).heard.length || reviewOf(line).heard.some((digest) => take.digest && (digest.startsWith(take.digest) || take.digest.startsWith(digest)));
const isRejected = (line, take) => take.seed !== "" && reviewOf(line).seeds.includes(take.seed) && isHeard(line, take);

function approvedTake(line) {
  const { verdict, take, seed } = reviewOf(line);
  return verdict === "approved" ? line.takes.find((each) => each.number === take && (!seed || each.seed === seed) && isHeard(line, each)) : undefined;
}

// A verdict about a take that was spoken again since then no longer counts: the line is open.
function verdictOf(line) {
  if (approvedTake(line)) return "approved";
  return reviewOf(line).verdict === "rejected" && line.takes.some((take) => isRejected(line, take)) ? "rejected" : "open";
}

// Whether there is something to keep; a review that takes back a recorded one is.
const isReviewed = (line) => line.review !== null && Boolean(line.recorded || line.review.verdict || line.review.note || line.review.seeds.length);

// Approving or rejecting a take a second time undoes it.
function approve(line) {
  const take = takeOf(line);
  const seeds = reviewOf(line).seeds.filter((seed) => seed !== take.seed);
  decideFor(line, approvedTake(line) === take ? undefined : take, seeds);
}

function reject(line) {
  const take = takeOf(line);
  const approved = approvedTake(line);
  const { seeds } = reviewOf(line);
  const left = isRejected(line, take) ? seeds.filter((seed) => seed !== take.seed) : [...new Set([...seeds, take.seed])];
  decideFor(line, approved === take ? undefined : approved, left);
}

// The verdict about a line: the take that was approved, else rejected if one of its takes was.
function decideFor(line, approved, seeds) {
  const rejects = line.takes.filter((take) => seeds.includes(take.seed) && (take === takeOf(line) || isRejected(line, take)));
  const rejected = rejects.find((take) => take === takeOf(line)) || rejects[0];
  const about = approved || rejected;
  const heard = digests(line.takes.filter((take) => take === approved || rejects.includes(take)));
  const verdict = approved ? "approved" : rejected ? "rejected" : "";
  line.review = { ...reviewOf(line), verdict, take: about ? about.number : 0, seed: approved ? approved.seed : "", seeds,
    heard: heard.length ? heard : reviewOf(line).heard };
  keep(line);
}

function note(line, words) {
  line.review = { ...reviewOf(line), note: words };
  keep(line);
}

// The browser keeps each line's review under the run's folder and its id, so that two windows don't overwrite each other.
const PREFIX = `voxcpm2 review ${DATA.run} `;
let unkept = false;  // the browser can't keep reviews
let unsaved = false;  // there are reviews that no file has

function keep(line) {
  unsaved = true;
  try {
    if (isReviewed(line)) localStorage.setItem(PREFIX + line.id, JSON.stringify(line.review));
    else localStorage.removeItem(PREFIX + line.id);
    unkept = false;
  } catch {
    unkept = true;
  }
}

function restore(line, text) {
  try {
    line.review = text === null ? line.recorded : checkedReview(JSON.parse(text));
    // what the results record is newer than a verdict on audio that is no longer there
    if (line.recorded && line.review.verdict && verdictOf(line) === "open") line.review = line.recorded;
  } catch {
    line.review = line.recorded;  // not written by this page
  }
  line.shown = firstShown(line);
}

function firstShown(line) {
  const place = line.takes.indexOf(approvedTake(line));
  if (place >= 0) return place;
  const isOpen = (take) => canPlay(take) && !isRejected(line, take);
  if (isOpen(line.takes[line.best])) return line.best;
  const playable = line.takes.findIndex(isOpen);
  return playable >= 0 ? playable : Math.max(0, line.takes.findIndex(canPlay));
}

function restoreAll() {
  try {
    for (let place = 0; place < localStorage.length; place++) {
      const key = localStorage.key(place);
      const line = key.startsWith(PREFIX) ? lineOf.get(key.slice(PREFIX.length)) : undefined;
      if (line) restore(line, localStorage.getItem(key));
    }
  } catch {
    unkept = true;
  }
  for (const line of lines) line.shown = firstShown(line);
}

// review.json
const isDigest = (value) => typeof value === "string" && /^[0-9a-f]{8,64}$/.test(value);
const isSeed = (value) => /^\d{1,19}$/.test(String(value));

function checkedReview(value) {
  const { verdict = "", take = 0, seed = "", seeds = [], note: words = "", sha256 = [], heard = sha256 } = value;
  if (!["approved", "rejected", "", null].includes(verdict) || !Array.isArray(seeds) || !seeds.every(isSeed)
      || typeof words !== "string" || !Number.isInteger(take || 0) || !Array.isArray(heard) || !heard.every(isDigest)
      || (seed && !isSeed(seed))) throw new Error("not a review");
  return { verdict: verdict || "", take: take || 0, seed: String(seed), seeds: seeds.map(String), note: words, heard };
}

function reviewText() {
  const entries = lines.filter(isReviewed).map((line) => {
    const { take, seeds, note: words, heard } = line.review;
    const verdict = verdictOf(line);
    const fields = [
      ...(verdict === "open" ? [] : [`"verdict": "${verdict}"`, ...(take ? [`"take": ${take}`] : [])]),
      ...(seeds.length ? [`"seeds": [${seeds.join(", ")}]`] : []), ...(words || line.recorded ? [`"note": ${JSON.stringify(words)}`] : []),
      ...(heard.length && (verdict !== "open" || seeds.length) ? [`"sha256": ${JSON.stringify(heard)}`] : []),
    ];
    return `${JSON.stringify(line.id)}: {${fields.join(", ")}}`;
  });
  return `{"version": 1, "lines": {${entries.map((entry) => `\n  ${entry}`).join(",")}${entries.length ? "\n" : ""}}}\n`;
}

// Take over a file's reviews. Returns the number of them and of lines that this page lacks; throws if it is no review.
function readReview(text) {
  const exact = text.replace(/"(?:[^"\\]|\\.)*"|\d{16,}/g, (token) => (token[0] === '"' ? token : `"${token}"`));
  const { version, lines: entries } = JSON.parse(exact);
  if (version !== 1 || typeof entries !== "object" || entries === null) throw new Error("not a review");
  const found = Object.entries(entries).map(([id, value]) => [lineOf.get(id), checkedReview(value)]);
  const known = found.filter(([line]) => line);
  for (const [line, review] of known) {
    line.review = review;
    keep(line);
    line.shown = firstShown(line);
  }
  unsaved = false;
  return { known: known.length, unknown: found.length - known.length };
}
