// One sound for all lines, loaded when it is played.
const sound = new Audio();
sound.preload = "none";
let playing = null;  // { line, take } that the sound is of

const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
const lengthOf = (take) => (isPlaying(take) && Number.isFinite(sound.duration) ? sound.duration : take.seconds || 0);
const isPlaying = (take) => playing !== null && playing.take === take;

function load(line, take) {
  if (isPlaying(take)) return;
  const before = playing;
  sound.pause();
  playing = { line, take, broken: false };
  sound.src = take.link;
  if (before) showLine(before.line);
}

function play(line) {
  const take = takeOf(line);
  if (!canPlay(take)) return;
  load(line, take);
  const wanted = playing;
  sound.play().catch((error) => {
    if (error.name === "AbortError") return;
    wanted.broken = true;
    say(`${line.id} can't be played`);
    showLine(line);
  });
}

function togglePlay(line) {
  if (isPlaying(takeOf(line)) && !sound.paused) sound.pause();
  else play(line);
}

function seekTo(line, seconds) {
  const take = takeOf(line);
  if (!canPlay(take)) return;
  load(line, take);
  sound.currentTime = Math.max(0, Math.min(lengthOf(take), seconds));
  showTime();
}

const position = (take) => (isPlaying(take) ? sound.currentTime : 0);
const seekBy = (line, seconds) => seekTo(line, position(takeOf(line)) + seconds);

function follow() {
  if (!playing) return;
  showTime();
  if (!sound.paused) requestAnimationFrame(follow);
}

for (const kind of ["play", "pause", "seeked", "loadedmetadata"])
  sound.addEventListener(kind, () => {
    if (playing) showLine(playing.line);
    follow();
  });
sound.addEventListener("ended", () => {
  if (!find("on").checked) return;
  const next = list.order.findIndex((place, at) => at > list.at(playing.line) && canPlay(takeOf(lines[place])));
  if (next < 0) return;
  select(next);
  play(lines[list.order[next]]);
});
