// Which lines are listed, and in which order.
const VERDICTS = ["open", "approved", "rejected"];
const URGENCY = { failed: 0, doubtful: 1, warned: 2, fine: 3, pause: 3 };

// Words without accents, case and the marks before them: texts are sorted by these, faster than by a collation.
function folded(words) {
  const plain = /^[\x00-\x7f]*$/.test(words) ? words : words.normalize("NFKD").replace(/\p{M}+/gu, "");
  return plain.toLowerCase().replace(/^[^\p{L}\p{N}]+/u, "");
}

const speaker = (line) => line.character || line.voice || line.recording;

// Keys of the sortings; undefined and "" come last.
const SORTINGS = {
  urgency: { title: "Problems first", key: (line) => URGENCY[line.state] },
  line: { title: "Line", key: (line) => line.place },
  who: { title: "Character", key: (line) => folded(speaker(line)) },
  text: { title: "Text", key: (line) => folded(line.text) },
  sound: { title: "Sound", key: (line) => takeOf(line).seconds || undefined, down: true },
  takes: { title: "Takes", key: (line) => line.takes.length, down: true },
  verdict: { title: "Verdict", key: (line) => VERDICTS.indexOf(verdictOf(line)) },
  note: { title: "Note", key: (line) => folded(reviewOf(line).note) },
};

function sorted(name, down) {
  const { key } = SORTINGS[name];
  const keys = lines.map(key);
  const sign = down ? -1 : 1;
  const full = [];
  const empty = [];
  for (let place = 0; place < keys.length; place++) (keys[place] === undefined || keys[place] === "" ? empty : full).push(place);
  full.sort((a, b) => {
    const x = keys[a], y = keys[b];
    return x < y ? -sign : x > y ? sign : a - b;
  });
  return full.concat(empty);
}

const filter = { words: [], states: new Set(), verdicts: new Set(), character: "", voice: "" };
const haystacks = [];

function haystack(line) {
  return (haystacks[line.place] ??= [line.place + 1, line.id, line.text, line.character, line.voice, line.manner, line.recording,
    ...line.extra, ...line.takes.flatMap((take) => [take.seed, ...remarksOf(take)])].join("\n").toLowerCase());
}

const voiceOf = (line) => line.voice || line.recording;

function matches(line) {
  return (!filter.states.size || filter.states.has(line.state))
    && (!filter.verdicts.size || (filter.verdicts.has(verdictOf(line)) && line.takes.some(canPlay)))
    && (!filter.character || line.character === filter.character)
    && (!filter.voice || voiceOf(line) === filter.voice)
    && filter.words.every((word) => haystack(line).includes(word) || reviewOf(line).note.toLowerCase().includes(word));
}
