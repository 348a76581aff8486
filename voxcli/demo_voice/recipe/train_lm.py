"""Train the language models, local encoder, diffusion decoder and stop head by wall-clock time, on one GPU or several.

    torchrun --nproc_per_node 2 train_lm.py --speech work/speech --codec work/codec/joint.pt --out work/lm \\
        --seconds 800 --compile

Latents are computed once with the frozen encoder and stay on the training device; with --grow, shards finished later
are added. Utterances are packed into rows of fixed length with a block-diagonal causal mask, so one compiled graph
serves the whole run. The modules are those of the reference VoxCPM2Model and the losses are those of its forward().
Only the bookkeeping differs: the local encoder runs on audio positions only, the diffusion decoder on predicted
positions only, and both on several patches per row, so that attention over 5 or 11 tokens fills a tile. --check
compares the packed loss path with the reference modules.

Prompt layouts (A audio patch): zero-shot `text 101`, reference `103 A.. 104 text 101`, continuation
`prompt_text+text 101 A..` and both. Only speaker 0 is trained without a prompt, so it is the voice without a prompt.

Details that matter for a tiny model:
- history noise: the patches that the model reads (not those it predicts) get Gaussian noise of random strength, so that
  it tolerates its own small errors at inference;
- stop targets: some utterances keep up to TAIL_PATCHES silent patches, all labelled "stop", so that a missed stop can
  be corrected one patch later;
- references are parts of other utterances of the same speaker, 1 to 10 seconds long;
- some texts lose their final full stop or get a stray space.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing as mp
import os
import queue
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from numpy.typing import ArrayLike, NDArray
from safetensors.torch import save_file

import common
from codec import Codec, load_codec
from optim import FlatOptimizer, graphed

if TYPE_CHECKING:
    from multiprocessing.queues import Queue, SimpleQueue

voxcpm2 = common.import_reference()
from voxcpm.modules.audiovae.audio_vae_v2 import AudioVAE, AudioVAEConfig  # noqa: E402
from voxcpm.modules.minicpm4 import model as minicpm  # noqa: E402

DIT_GROUP, ENC_GROUP = 8, 16  # patches per row of the local transformers: 8 x 11 and 16 x 5 tokens
# probabilities of (zero-shot, reference, continuation, both) for each speaker
MODES = {0: (0.62, 0.20, 0.13, 0.05), 1: (0.0, 0.62, 0.28, 0.10)}


Batch = dict[str, torch.Tensor]  # what `Packer.batch` returns, on the device
Rope = tuple[torch.Tensor, torch.Tensor]


class Record(TypedDict):
    """An utterance with latents: the index of its first patch, and its patches without the tail."""

    text: str
    speaker: int
    first: int
    patches: int


class Part(TypedDict):
    """The latents of the shards of one process."""

    latents: torch.Tensor
    records: list[Record]


# --------------------------------------------------------------------------- latents
@torch.no_grad()
def extract(speech: str, names: list[str], codec: Codec, device: str) -> tuple[torch.Tensor, list[Record]]:
    """Return the latents of shards, [patches, PATCH, LATENT], and one record per utterance."""
    from codec import FRAME

    todo: queue.Queue[tuple[NDArray[np.int16], list[common.Utterance]]] = queue.Queue(maxsize=12)

    def read(mine: list[str]) -> None:
        for name in mine:
            with open(os.path.join(speech, name)) as f:
                todo.put((np.load(os.path.join(speech, name[:-5] + ".npy")), json.load(f)))

    readers = [threading.Thread(target=read, args=(names[i::4],), daemon=True) for i in range(4)]
    for r in readers:
        r.start()
    chunks: list[torch.Tensor] = []
    records: list[Record] = []
    used = 0
    for _ in names:
        samples, entries = todo.get()
        pcm = torch.from_numpy(samples).to(device)
        order = sorted(range(len(entries)), key=lambda i: entries[i]["samples"])
        for s in range(0, len(order), 75):
            group = [entries[i] for i in order[s : s + 75]]
            longest = max(e["samples"] for e in group)
            wav = torch.zeros(len(group), 1, longest, device=device)
            for row, e in enumerate(group):
                wav[row, 0, : e["samples"]] = pcm[e["start"] : e["start"] + e["samples"]].float() / 32768
            z = codec.encode(common.to_encoder_rate(wav)[:, 0], torch.float32)
            for row, e in enumerate(group):
                n = e["patches"] + common.TAIL_PATCHES
                assert n * common.PATCH * FRAME == e["samples"]
                chunks.append(z[row, : n * common.PATCH].reshape(n, common.PATCH, common.LATENT).half())
                records.append({"text": e["text"], "speaker": e["speaker"], "first": used, "patches": e["patches"]})
                used += n
    return torch.cat(chunks), records


# --------------------------------------------------------------------------- packing
class Packer:
    """Packs utterances into rows of `width` positions. A batch is a dict of arrays, which index the latents."""

    def __init__(self, records: list[Record], rows: int, width: int, audio: int, targets: int, seed: int):
        self.rows, self.width, self.audio, self.targets = rows, width, audio, targets
        self.rng = np.random.default_rng(seed)
        self.space, self.full_stop = common.vocabulary()[common.SPACE], common.vocabulary()["."]
        self.records: list[Record] = []
        self.ids: list[NDArray[np.int64]] = []
        self.by_speaker: dict[int, list[int]] = {}
        self.add(records)

    def add(self, records: list[Record]) -> None:
        for i, r in enumerate(records, len(self.records)):
            self.ids.append(np.array(common.text_ids(r["text"])))
            self.by_speaker.setdefault(r["speaker"], []).append(i)
        self.records = self.records + records
        self.order = np.zeros(0, np.int64)

    def next_index(self) -> int:
        if len(self.order) == 0:
            self.order = self.rng.permutation(len(self.records))
        i, self.order = self.order[-1], self.order[:-1]
        return i

    def other(self, speaker: int) -> int:
        pool = self.by_speaker[speaker]
        return pool[self.rng.integers(len(pool))]

    def text(self, i: int) -> NDArray[np.int64]:
        rng, ids = self.rng, self.ids[i]
        if ids[-1] == self.full_stop and rng.random() < 0.12:
            ids = ids[:-1]
        if rng.random() < 0.03:  # stray spaces
            ids = np.insert(ids, rng.integers(1, len(ids) + 1), self.space)
        return ids

    def reference(self, speaker: int) -> NDArray[np.int64]:
        """Return patches of one to four utterances of the speaker, cut at a random length."""
        rng = self.rng
        want, have = int(rng.integers(7, 63)), 0
        parts: list[NDArray[np.int64]] = []
        while have < want and len(parts) < 4:
            r = self.records[self.other(speaker)]
            skip = int(rng.integers(0, r["patches"] // 2 + 1)) if not parts and rng.random() < 0.4 else 0
            parts.append(np.arange(r["first"] + skip, r["first"] + r["patches"]))
            have += len(parts[-1])
        return np.concatenate(parts)[:want]

    def sample(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return one training sequence: token ids, patch indexes (-1 for text), target flags, stop labels."""
        i, rng = self.next_index(), self.rng
        r, ids = self.records[i], self.text(i)
        mode = int(np.searchsorted(np.cumsum(MODES[r["speaker"]]), rng.random(), side="right"))
        token_parts: list[ArrayLike] = []
        patch_parts: list[ArrayLike] = []
        if mode in (1, 3):
            ref = self.reference(r["speaker"])
            token_parts += [[common.REF_START], np.zeros(len(ref), np.int64), [common.REF_END]]
            patch_parts += [[-1], ref, [-1]]
        prompt = np.zeros(0, np.int64)
        if mode in (2, 3):  # texts are joined as in the reference, which tokenizes both in one call
            o = self.other(r["speaker"])
            before = self.text(o)
            ids = np.concatenate([before, ids[1:] if rng.random() < 0.4 else ids])
            p = self.records[o]
            prompt = np.arange(p["first"], p["first"] + p["patches"] + int(rng.random() < 0.3))
        extra = rng.integers(1, common.TAIL_PATCHES + 1) if rng.random() < 0.3 else 0
        n = r["patches"] + extra
        token_parts += [ids, [common.AUDIO_START], np.zeros(len(prompt) + n, np.int64)]
        patch_parts += [np.full(len(ids) + 1, -1), prompt, np.arange(r["first"], r["first"] + n)]
        tokens, patches = np.concatenate(token_parts), np.concatenate(patch_parts)
        target, stop = np.zeros(len(tokens), np.int64), np.zeros(len(tokens), np.int64)
        target[len(tokens) - n :] = 1
        stop[len(tokens) - n + r["patches"] - 1 :] = 1
        return tokens, patches, target, stop

    def batch(self) -> dict[str, np.ndarray]:
        R, W = self.rows, self.width
        tokens, patches = np.zeros((R, W), np.int64), np.full((R, W), -1, np.int64)
        target, stop, doc = (np.zeros((R, W), np.int64) for _ in range(3))
        fill, audio, targets, count, misses = np.zeros(R, np.int64), 0, 0, 0, 0
        while misses < 30:
            s = self.sample()
            n, n_audio, n_target = len(s[0]), int((s[1] >= 0).sum()), int(s[2].sum())
            rows = np.flatnonzero(fill + n <= W)
            if len(rows) == 0 or audio + n_audio > self.audio or targets + n_target > self.targets:
                misses += 1
                continue
            row = rows[0]
            at = slice(fill[row], fill[row] + n)
            count += 1
            tokens[row, at], patches[row, at], target[row, at], stop[row, at], doc[row, at] = *s, count
            fill[row] += n
            audio, targets = audio + n_audio, targets + n_target
        flat = patches.reshape(-1)

        def listed(where: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
            out, live = np.zeros(size, np.int64), np.zeros(size, np.float32)
            out[: len(where)], live[: len(where)] = where, 1
            return out, live

        slots, live = listed(np.flatnonzero(flat >= 0), self.audio)
        goals, weight = listed(np.flatnonzero(target.reshape(-1)), self.targets)
        slot_of = np.full(R * W + 1, -1)
        slot_of[slots[live > 0]] = np.flatnonzero(live)
        previous = slot_of[goals - 1]  # slot of the previous patch, -1 after text
        return {
            "tokens": tokens,
            "doc": doc,
            "is_audio": (patches >= 0).astype(np.float32),
            "is_text": ((patches < 0) & (doc > 0)).astype(np.float32),
            "slots": slots,
            "live": live,
            "patch": np.maximum(flat[slots], 0),
            "goals": goals,
            "weight": weight,
            "goal_patch": np.maximum(flat[goals], 0),
            "previous": np.maximum(previous, 0),
            "has_previous": ((previous >= 0) * weight).astype(np.float32),
            "stop": stop.reshape(-1)[goals],
            "fill": np.array([fill.sum() / (R * W), audio / self.audio, targets / self.targets, count]),
        }


def feed(
    records: list[Record],
    rows: int,
    width: int,
    audio: int,
    targets: int,
    seed: int,
    batches: Queue[dict[str, np.ndarray]],
    news: SimpleQueue[list[Record]],
) -> None:
    packer = Packer(records, rows, width, audio, targets, seed)
    while True:
        while not news.empty():
            packer.add(news.get())
        batches.put(packer.batch())


# --------------------------------------------------------------------------- model
def attend(attn: Any, x: torch.Tensor, rope: Rope | None, mask: torch.Tensor) -> torch.Tensor:
    """Return the reference's attention, with an explicit mask."""
    b, t, _ = x.shape
    h, kv, d = attn.num_heads, attn.num_key_value_heads, attn.head_dim
    q = attn.q_proj(x).view(b, t, h, d).transpose(1, 2)
    k = attn.k_proj(x).view(b, t, kv, d).transpose(1, 2)
    v = attn.v_proj(x).view(b, t, kv, d).transpose(1, 2)
    if rope is not None:
        q, k = minicpm.apply_rotary_pos_emb(q, k, *rope)
    k = k.repeat_interleave(h // kv, dim=1)
    v = v.repeat_interleave(h // kv, dim=1)
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return attn.o_proj(y.transpose(1, 2).reshape(b, t, h * d))


def run_layer(layer: Any, x: torch.Tensor, mask: torch.Tensor, rope: Rope | None) -> torch.Tensor:
    x = x + attend(layer.self_attn, layer.input_layernorm(x), rope, mask)
    return x + layer.mlp(layer.post_attention_layernorm(x))


COMPILED = torch.compile(
    run_layer, dynamic=False
)  # one compilation for all layers of a stack, in seconds instead of minutes


def run_stack(stack: Any, x: torch.Tensor, mask: torch.Tensor, rope: Rope | None) -> torch.Tensor:
    for layer in stack.layers:
        x = (COMPILED if Trainer.compiled else run_layer)(layer, x, mask, rope)
    return stack.norm(x)


def rope_of(stack: Any, t: int, groups: int = 1) -> Rope | None:
    if stack.rope_emb is None:
        return None
    return stack.rope_emb.cos_cached[:t].repeat(groups, 1), stack.rope_emb.sin_cached[:t].repeat(groups, 1)


def run_local(stack: Any, x: torch.Tensor, groups: int) -> torch.Tensor:
    """Run a stack with full attention within each short sequence, `groups` sequences per row."""
    b, t, c = x.shape
    block = torch.arange(groups * t, device=x.device) // t
    mask = (block[:, None] == block[None, :])[None, None]
    return run_stack(stack, x.reshape(b // groups, groups * t, c), mask, rope_of(stack, t, groups)).reshape(b, t, c)


class Trainer(nn.Module):
    """Loss of the reference model on packed rows."""

    compiled = False
    base: torch.Tensor
    capital: torch.Tensor

    def __init__(self, model: Any, dit_mult: int = 1):
        super().__init__()
        self.m, self.dit_mult = model, dit_mult
        self.register_buffer("base", torch.from_numpy(common.alias_table()), persistent=False)
        self.register_buffer("capital", torch.from_numpy(common.capital_table()), persistent=False)

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        table = self.m.base_lm.embed_tokens
        return table(self.base[tokens]) + self.capital[tokens][..., None] * table.weight[common.CAPITAL]

    def local_encoder(self, x: torch.Tensor) -> torch.Tensor:
        enc = self.m.feat_encoder
        x = enc.in_proj(x)
        x = torch.cat([enc.special_token[0].expand(x.shape[0], 1, -1).to(x.dtype), x], dim=1)
        return run_local(enc.encoder, x, ENC_GROUP)[:, 0]

    def estimator(self, x: torch.Tensor, mu: torch.Tensor, t: torch.Tensor, cond: torch.Tensor) -> torch.Tensor:
        est = self.m.feat_decoder.estimator
        x, cond = est.in_proj(x), est.cond_proj(cond)
        time_emb = est.time_mlp(est.time_embeddings(t)) + est.delta_time_mlp(est.time_embeddings(torch.zeros_like(t)))
        mu = mu.view(x.shape[0], -1, x.shape[-1])
        h = torch.cat([mu.to(x.dtype), time_emb[:, None].to(x.dtype), cond, x], dim=1)
        return est.out_proj(run_local(est.decoder, h, DIT_GROUP)[:, -x.shape[1] :])

    def hidden(self, b: Batch, noisy: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the hidden states that condition the decoder and the stop head, at the positions before the goals."""
        m = self.m
        R, W = b["tokens"].shape
        feat = m.enc_to_lm_proj(self.local_encoder(noisy)) * b["live"][:, None]
        grid = torch.zeros(R * W, feat.shape[1], device=feat.device, dtype=feat.dtype)
        grid = grid.index_add(0, b["slots"], feat).view(R, W, -1)
        text = self.embed(b["tokens"]) * b["is_text"][..., None]
        doc = b["doc"]
        order = torch.arange(W, device=doc.device)
        mask = ((doc[:, :, None] == doc[:, None, :]) & (order[:, None] >= order[None, :]))[:, None]
        out = run_stack(m.base_lm, text + grid, mask, rope_of(m.base_lm, W))
        audio = b["is_audio"][..., None]
        out = m.fsq_layer(out) * audio + out * (1 - audio)
        res = run_stack(
            m.residual_lm,
            m.fusion_concat_proj(torch.cat([out, grid.to(out.dtype)], -1)),
            mask,
            rope_of(m.residual_lm, W),
        )
        before = (b["goals"] - 1).clamp(min=0)  # the position that predicts each goal
        return out.reshape(R * W, -1)[before], res.reshape(R * W, -1)[before]

    def forward(
        self,
        b: Batch,
        noisy: torch.Tensor,
        clean: torch.Tensor,
        cond: torch.Tensor,
        keep: torch.Tensor,
        t: torch.Tensor,
        z: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        m = self.m
        lm, res = self.hidden(b, noisy)
        mu = torch.cat([m.lm_to_dit_proj(lm), m.res_to_dit_proj(res)], -1)
        k = self.dit_mult
        if k > 1:
            clean, cond, mu = clean.repeat(k, 1, 1), cond.repeat(k, 1, 1), mu.repeat(k, 1)
        y = (1 - t[:, None, None]) * clean + t[:, None, None] * z
        v = self.estimator(y, mu * keep[:, None], t, cond)
        err = (v.float() - (z - clean)).square().mean((1, 2))
        w = b["weight"]
        total = w.sum().clamp(min=1)
        diff = (err * w.repeat(k)).sum() / (total * k)
        logits = m.stop_head(m.stop_actn(m.stop_proj(lm)))
        ce = F.cross_entropy(logits.float(), b["stop"], reduction="none")
        return diff, (ce * w).sum() / total


def initialize(model: Any) -> None:
    """Initialize at a small scale; the reference keeps PyTorch's defaults."""
    for name, p in model.named_parameters():
        if name.startswith("audio_vae"):
            continue
        if p.ndim == 2 and "embed_tokens" not in name:
            std = 1.0 / math.sqrt(p.shape[1])
            if name.endswith(("o_proj.weight", "down_proj.weight")):
                std *= 0.3
            if name.endswith(("out_proj.weight", "stop_head.weight")) and "fsq" not in name:
                std *= 0.1
            nn.init.normal_(p, 0, std)
        elif name.endswith("bias"):
            nn.init.zeros_(p)
    nn.init.normal_(model.base_lm.embed_tokens.weight, 0, 0.7)
    nn.init.normal_(model.feat_encoder.special_token, 0, 0.7)


def build(micro: bool, device: str) -> Any:
    cfg = common.model_config(micro)
    cfg["device"], cfg["dtype"] = device, "float32"

    class NoTokenizer:
        vocab: ClassVar[dict[str, int]] = {}

    config = voxcpm2.VoxCPMConfig.model_validate(cfg)
    vae = AudioVAE(AudioVAEConfig(**cfg["audio_vae_config"]))
    return voxcpm2.VoxCPM2Model(config, NoTokenizer(), vae, device=device).to(device)


def trainable(model: Any) -> list[tuple[str, nn.Parameter]]:
    return [(n, p) for n, p in model.named_parameters() if not n.startswith("audio_vae")]


def export(model: Any, averaged: Mapping[int, torch.Tensor], path: str) -> None:
    """Write bfloat16 weights under the reference names.

    Alias tokens get their trained row; capitals also get the capital vector.
    """
    state = {}
    for name, p in trainable(model):
        value = averaged[id(p)].detach().float().cpu()
        if name == "base_lm.embed_tokens.weight":
            value = (
                value[torch.from_numpy(common.alias_table())]
                + torch.from_numpy(common.capital_table())[:, None] * value[common.CAPITAL]
            )
        state[name] = value.to(torch.bfloat16).contiguous()
    save_file(state, path, metadata={"format": "pt"})


def restore(model: Any, path: str) -> None:
    """Load the parameters from an exported model.safetensors, which has the trained rows of the embedding unchanged."""
    from safetensors.torch import load_file

    state = load_file(path)
    with torch.no_grad():
        for name, p in trainable(model):
            p.copy_(state[name].float())
        table = model.base_lm.embed_tokens.weight
        vocab = common.vocabulary()
        table[common.CAPITAL] = table[vocab["A"]] - table[vocab["a"]]


# --------------------------------------------------------------------------- main
def check(device: str) -> None:
    """Compare packed hidden states with the reference modules, one sequence at a time."""
    torch.manual_seed(0)
    model = build(True, device).eval()
    latents = torch.randn(400, common.PATCH, common.LATENT, device=device)
    records: list[Record] = [
        {"text": t, "speaker": s, "first": f, "patches": n}
        for t, s, f, n in (
            ("Hello there.", 0, 0, 6),
            ("A longer sentence, is it?", 1, 10, 9),
            ("Yes.", 0, 40, 4),
            ("No, NASA.", 1, 50, 5),
        )
    ]
    packer = Packer(records, 3, 160, 128, 64, 0)
    batch = packer.batch()
    b = {k: torch.from_numpy(v).to(device) for k, v in batch.items()}
    trainer = Trainer(model)
    with torch.no_grad():
        model.base_lm.embed_tokens.weight.copy_(
            model.base_lm.embed_tokens.weight[trainer.base] + trainer.capital[:, None] * 0.3
        )
        model.base_lm.embed_tokens.weight[common.CAPITAL] = 0.3
        lm, res = trainer.hidden(b, latents[b["patch"]])
        worst, compared, doc = 0.0, 0, batch["doc"]
        goal_of = {int(g): i for i, g in enumerate(batch["goals"]) if batch["weight"][i]}
        slot_of = {int(s): i for i, s in enumerate(batch["slots"]) if batch["live"][i]}
        for row in range(doc.shape[0]):
            for d in sorted(set(doc[row]) - {0}):
                flat = row * doc.shape[1] + np.flatnonzero(doc[row] == d)
                tokens, is_audio = b["tokens"].view(-1)[flat][None], b["is_audio"].view(-1)[flat][None]
                feats = torch.zeros(1, len(flat), common.PATCH, common.LATENT, device=device)
                for i, f in enumerate(flat):
                    if f in slot_of:
                        feats[0, i] = latents[batch["patch"][slot_of[f]]]
                fe = model.enc_to_lm_proj(model.feat_encoder(feats))
                comb = (1 - is_audio)[..., None] * model.base_lm.embed_tokens(tokens) + is_audio[..., None] * fe
                out, _ = model.base_lm(inputs_embeds=comb, is_causal=True)
                out = model.fsq_layer(out) * is_audio[..., None] + out * (1 - is_audio)[..., None]
                r, _ = model.residual_lm(model.fusion_concat_proj(torch.cat([out, is_audio[..., None] * fe], -1)), True)
                for i, f in enumerate(flat):
                    if f in goal_of:
                        g = goal_of[f]
                        worst = max(
                            worst, (lm[g] - out[0, i - 1]).abs().max().item(), (res[g] - r[0, i - 1]).abs().max().item()
                        )
                        compared += 1
        n = 64
        t, mu, x, c = (
            torch.rand(n),
            torch.randn(n, 128),
            torch.randn(n, 4, common.LATENT),
            torch.randn(n, 4, common.LATENT),
        )
        mine = trainer.estimator(x, mu, t, c)
        ref = model.feat_decoder.estimator(x.mT, mu, t, c.mT, torch.zeros(n)).mT
    print(
        f"{compared} packed hidden states, maximum difference {worst:.1e}, estimator {(mine - ref).abs().max():.1e}, "
        f"fill {batch['fill']}"
    )
    assert compared and worst < 1e-4 and (mine - ref).abs().max() < 1e-4


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--speech")
    ap.add_argument(
        "--codec",
        help="training state (.pt) or exported weights (.safetensors) of the codec; training waits for the file",
    )
    ap.add_argument("--out")
    ap.add_argument("--seconds", type=float, default=0, help="training time, from the first step")
    ap.add_argument("--until", help="file with the unix time at which to stop, reread during training")
    ap.add_argument("--max-steps", type=int, default=10**9)
    ap.add_argument("--rows", type=int, default=24, help="rows per step and GPU")
    ap.add_argument("--width", type=int, default=512)
    ap.add_argument("--audio-share", type=float, default=0.42, help="audio patches, as a fraction of all positions")
    ap.add_argument("--target-share", type=float, default=0.24, help="predicted patches, likewise")
    ap.add_argument("--dit-mult", type=int, default=2)
    ap.add_argument("--lr", type=float, default=1.5e-3)
    ap.add_argument("--lr-end", type=float, default=0.02, help="final learning rate, as a fraction of --lr")
    ap.add_argument("--history-noise", type=float, default=0.3)
    ap.add_argument("--limit-shards", type=int, default=None)
    ap.add_argument("--wait-shards", nargs="*", default=[], help="VOICE:N waits for N shards of the voice")
    ap.add_argument("--grow", type=float, default=0, help="seconds between searches for new shards; 0: never")
    ap.add_argument("--hours", type=float, default=140)
    ap.add_argument("--feeders", type=int, default=6)
    ap.add_argument("--save-every", type=float, default=90)
    ap.add_argument("--init", help="model.safetensors to continue from")
    ap.add_argument("--micro", action="store_true")
    ap.add_argument("--compile", action="store_true")
    ap.add_argument("--check", action="store_true")
    a = ap.parse_args()
    if a.check:
        check("cpu")
        return
    t_start = time.time()
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    device = "cpu"
    if torch.cuda.is_available():
        device = f"cuda:{os.environ.get('LOCAL_RANK', 0)}"
        torch.cuda.set_device(device)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    kind = device.split(":")[0]
    if world > 1:
        dist.init_process_group("nccl" if kind == "cuda" else "gloo")
    os.makedirs(a.out, exist_ok=True)

    def notify(*args: object) -> None:
        if rank == 0:
            print(*args, flush=True)

    torch.manual_seed(1)
    model = build(a.micro, device)
    initialize(model)
    if a.init:
        restore(model, a.init)
    model.train()
    names = trainable(model)
    notify(
        "parameters",
        {
            k: round(sum(p.numel() for n, p in names if n.startswith(k)) / 1e6, 3)
            for k in ("base_lm", "residual_lm", "feat_encoder", "feat_decoder", "")
        },
    )
    matrices = [p for n, p in names if p.ndim == 2 and ".layers." in n]
    chosen = {id(p) for p in matrices}
    rest = [p for _, p in names if id(p) not in chosen]
    opt = FlatOptimizer(matrices, [p for p in rest if p.ndim == 2], [p for p in rest if p.ndim != 2])
    opt.share()

    positions = a.rows * a.width
    N, M = int(positions * a.audio_share) // 64 * 64, int(positions * a.target_share) // 64 * 64
    k = a.dit_mult
    latents = torch.zeros(
        int(a.hours * 3600 * common.FRAME_RATE / common.PATCH),
        common.PATCH,
        common.LATENT,
        device=device,
        dtype=torch.float16,
    )
    trainer = Trainer(model, k).to(device)
    Trainer.compiled = a.compile
    torch.manual_seed(1000 + rank)

    # the input of a step, filled by the packers; for compilation, with a batch of made-up records
    made_up: list[Record] = [
        {"text": "x" * 50, "speaker": s, "first": 25 * i, "patches": 20} for i in range(190) for s in (0, 1)
    ]
    static = {
        n: torch.from_numpy(v).to(device)
        for n, v in Packer(made_up, a.rows, a.width, N, M, 0).batch().items()
        if n != "fill"
    }
    sums = torch.zeros(2, device=device)

    def losses() -> None:
        opt.grad.zero_()
        b = static
        clean = latents[b["patch"]].float()
        noisy = clean + torch.randn_like(clean) * (torch.rand(N, 1, 1, device=device) * a.history_noise)
        cond = noisy[b["previous"]] * b["has_previous"][:, None, None]
        t = torch.sigmoid(torch.randn(M * k, device=device) - 0.4)
        keep = (torch.rand(M * k, device=device) > 0.1).float()
        z = torch.randn(M * k, common.PATCH, common.LATENT, device=device)
        with torch.autocast(kind, dtype=torch.bfloat16, enabled=kind == "cuda", cache_enabled=False):
            diff, stop = trainer(b, noisy, latents[b["goal_patch"]].float(), cond, keep, t, z)
        (diff + stop).backward()
        sums.add_(torch.stack([diff.detach(), stop.detach()]))

    step_losses, step_update = graphed(losses, device), graphed(opt.step, device)
    for t in (opt.m, opt.v, opt.count):
        t.zero_()
    notify(f"compiled after {time.time() - t_start:.0f} s")

    while not os.path.exists(a.codec):
        time.sleep(0.5)
    for spec in a.wait_shards:
        voice, shards = spec.split(":")
        while not os.path.isdir(a.speech) or sum(
            f.startswith(voice) and f.endswith(".json") for f in os.listdir(a.speech)
        ) < int(shards):
            time.sleep(0.5)
    t_extract = time.time()
    codec = load_codec(a.codec, common.model_config(a.micro)["audio_vae_config"]).to(device).eval()
    seen = sorted(n for n in os.listdir(a.speech) if n.endswith(".json"))[: a.limit_shards]
    mine, records = extract(a.speech, seen[rank::world], codec, device)
    if world > 1:
        part = os.path.join(a.out, "part{}.pt")
        torch.save({"latents": mine, "records": records}, part.format(rank))
        dist.barrier()
        parts: list[Part] = [torch.load(part.format(r), map_location=device, weights_only=False) for r in range(world)]
    else:
        parts = [{"latents": mine, "records": records}]
    used, records = 0, []
    for p in parts:
        n = len(p["latents"])
        latents[used : used + n] = p["latents"]
        records += [{**r, "first": r["first"] + used} for r in p["records"]]
        used += n
    flat = latents[:used:17].float()
    hours = {
        s: sum(r["patches"] for r in records if r["speaker"] == s) / 6.25 / 3600
        for s in sorted({r["speaker"] for r in records})
    }
    notify(
        f"latents in {time.time() - t_extract:.0f} s: {len(records)} utterances, hours by speaker "
        f"{ ({s: round(h, 1) for s, h in hours.items()}) }, "
        f"mean {flat.mean():.3f}, std {flat.std():.3f}, channel std {flat.std((0, 1)).min():.3f}.."
        f"{flat.std((0, 1)).max():.3f}"
    )

    fork = mp.get_context("fork")  # safe, as the packers use only numpy
    batches, news = fork.Queue(maxsize=16), [fork.SimpleQueue() for _ in range(1 if kind == "cpu" else a.feeders)]
    feeders = [
        fork.Process(
            target=feed,
            args=(records, a.rows, a.width, N, M, int(t_start) % 10**6 * 100 + 10 * rank + s, batches, pipe),
            daemon=True,
        )
        for s, pipe in enumerate(news)
    ]
    for f in feeders:
        f.start()

    def grow() -> None:
        """Add the shards finished since the last search, each to one process."""
        nonlocal used
        fresh = sorted(n for n in os.listdir(a.speech) if n.endswith(".json") and n not in seen)
        seen.extend(fresh)
        mine = [n for n in fresh if int(n.split("_")[-1][:-5]) % world == rank]
        if not mine or a.limit_shards:
            return
        new, entries = extract(a.speech, mine, codec, device)
        if used + len(new) > len(latents):
            return
        latents[used : used + len(new)] = new
        entries = [{**e, "first": e["first"] + used} for e in entries]
        used += len(new)
        for pipe in news:
            threading.Thread(
                target=pipe.put, args=(entries,), daemon=True
            ).start()  # a feeder reads it between two batches
        hours = {s: sum(e["patches"] for e in entries if e["speaker"] == s) / 6.25 / 3600 for s in (0, 1)}
        notify(
            f"{len(mine)} more shards after {time.time() - t_start:.0f} s, hours by speaker "
            f"{ ({s: round(h, 1) for s, h in hours.items()}) }"
        )

    def save(tag: str) -> None:
        if rank:
            return
        path = os.path.join(a.out, "model")
        export(model, opt.averaged(), path + ".tmp")
        os.replace(path + ".tmp", path + ".safetensors")
        notify(f"saved {tag} at step {step}, {time.time() - t_start:.0f} s")

    sums.zero_()
    begin = last_save = last_look = log_t = time.time()
    stop = torch.zeros((), device=device)
    step = logged = 0
    while True:
        if step % 20 == 0:
            end = common.read_time(a.until) if a.until else begin + a.seconds
        progress = (time.time() - begin) / max(end - begin, 1e-9)
        if step % 20 == 0:  # all processes stop at the same step
            stop.fill_(float(progress >= 1 or step >= a.max_steps))
            if world > 1:
                dist.broadcast(stop, 0)
            if stop.item():
                break
        if a.grow and time.time() - last_look > a.grow:
            grow()
            last_look = time.time()
        b = batches.get()
        fill = b.pop("fill")
        for n, v in b.items():
            v = torch.from_numpy(v)
            static[n].copy_(v.pin_memory() if kind == "cuda" else v, non_blocking=True)
        opt.lr.fill_(
            a.lr
            * min(1.0, (step + 1) / 300)
            * (a.lr_end + (1 - a.lr_end) * 0.5 * (1 + math.cos(math.pi * min(progress, 1))))
        )
        step_losses()
        opt.average()
        step_update()
        step += 1
        if step <= 2 or step - logged >= (200 if kind == "cuda" else 5):
            d, s = (sums / (step - logged)).tolist()
            now = time.time()
            notify(
                f"lm step {step} {now - t_start:.0f} s {(now - log_t) / (step - logged) * 1e3:.1f} ms/step diff "
                f"{d:.4f} stop {s:.5f} "
                f"grad {opt.norm.item():.2f} lr {opt.lr.item():.2e} fill {fill[0]:.2f} {fill[1]:.2f} {fill[2]:.2f} n "
                f"{int(fill[3])}"
            )
            logged, log_t = step, now
            sums.zero_()
        if time.time() - last_save > a.save_every:
            save("checkpoint")
            last_save = time.time()
    save("final")
    if rank == 0:
        open(os.path.join(a.out, "done"), "w").close()
    for f in feeders:
        f.terminate()
    if world > 1:
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
