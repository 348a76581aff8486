"""Train the codec (AudioVAE) by wall-clock time, on one GPU or several.

    torchrun --nproc_per_node 4 train_codec.py joint   --speech work/speech --out work/codec --seconds 240
    torchrun --nproc_per_node 2 train_codec.py decoder --speech work/speech --out work/codec --seconds 840 \\
        --init work/codec/joint.pt

`joint` trains encoder and decoder with the log-mel loss only. Afterwards the encoder is frozen, so the latents are
fixed and the language model can be trained on them. `decoder` continues with the decoder only, with multi-period and
multi-resolution spectrogram discriminators (least squares, feature matching). Gaussian noise of random strength is
added to the latents before decoding, so that the decoder tolerates errors of the language model.

A step is two CUDA graphs (losses and gradients; update) with one all-reduce between them. Crops are drawn inside the
first graph, so a step needs no work on the CPU. One forward pass serves the update of discriminators and decoder.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

import common
from codec import FRAME, FRAME_IN, Codec, Discriminators, MelLoss, load_codec
from optim import FlatOptimizer, graphed

CONTEXT = 8  # latent frames without loss at the start of a crop, unless an utterance starts there


class Pool:
    """The speech of this process on its device, at both sampling rates.

    Finished shards are added while training runs, in equal amounts of each voice.
    """

    def __init__(self, folder: str, device: str, hours: float, rank: int, world: int):
        self.folder, self.device, self.rank, self.world = folder, device, rank, world
        seconds = int(hours * 3600)
        self.high = torch.zeros(seconds * common.OUT_RATE, dtype=torch.int16, device=device)
        self.low = torch.zeros(seconds * common.IN_RATE, dtype=torch.int16, device=device)
        self.starts = torch.zeros(int(hours * 3600), dtype=torch.long, device=device)  # in latent frames
        self.size = torch.zeros(2, dtype=torch.float64, device=device)  # frames, utterances
        self.frames, self.utterances = 0, 0
        self.seen: set[str] = set()
        self.of_voice: dict[str, int] = {}

    def scan(self, voices: list[str], limit: int = 1) -> int:
        """Add up to `limit` finished shards; return their number."""
        names = sorted(os.listdir(self.folder)) if os.path.isdir(self.folder) else []
        names = [
            n
            for n in names
            if n.endswith(".json") and n not in self.seen and int(n.split("_")[-1][:-5]) % self.world == self.rank
        ]
        added = 0
        while added < limit:
            # the voice with the least speech so far; wait if it has no new shard
            voice = min(voices, key=lambda v: self.of_voice.get(v, 0))
            mine = [n for n in names if n.rsplit("_", 1)[0] == voice]
            if not mine:
                break
            name = mine[0]
            names.remove(name)
            self.seen.add(name)
            wav = torch.from_numpy(np.load(os.path.join(self.folder, name[:-5] + ".npy"))).to(self.device)
            n = len(wav) // FRAME
            self.of_voice[voice] = self.of_voice.get(voice, 0) + n
            if self.frames + n > len(self.high) // FRAME:
                continue
            with open(os.path.join(self.folder, name)) as f:
                starts = torch.tensor([e["start"] // FRAME for e in json.load(f)]) + self.frames
            at = self.frames
            self.high[at * FRAME : (at + n) * FRAME] = wav
            low = common.to_encoder_rate(wav.float()[None, None])[0, 0]
            self.low[at * FRAME_IN : (at + n) * FRAME_IN] = low.round().clamp(-32768, 32767).to(torch.int16)
            self.starts[self.utterances : self.utterances + len(starts)] = starts.to(self.device)
            self.frames, self.utterances = at + n, self.utterances + len(starts)
            self.size.copy_(torch.tensor([self.frames, self.utterances], dtype=torch.float64))
            added += 1
        return added

    def crops(self, n: int, length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return n crops of `length` frames at both rates, and for each whether an utterance starts there."""
        first = torch.rand(n, device=self.device) < 0.25
        pick = self.starts[(torch.rand(n, device=self.device, dtype=torch.float64) * self.size[1]).long()]
        anywhere = (torch.rand(n, device=self.device, dtype=torch.float64) * (self.size[0] - length)).long()
        begin = torch.minimum(torch.where(first, pick, anywhere), (self.size[0] - length).long())
        high = self.high[begin[:, None] * FRAME + torch.arange(length * FRAME, device=self.device)].float() / 32768
        low = self.low[begin[:, None] * FRAME_IN + torch.arange(length * FRAME_IN, device=self.device)].float() / 32768
        return high, low, first


def hidden_matrices(codec: Codec) -> list[torch.nn.Parameter]:
    return [
        p
        for n, p in codec.named_parameters()
        if p.ndim == 2 and n.split(".")[-1] not in ("w", "first", "last", "depth")
    ]


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("phase", choices=["joint", "decoder"])
    ap.add_argument("--speech", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--seconds", type=float, default=0, help="training time, from the first step")
    ap.add_argument("--until", help="file with the unix time at which to stop, reread during training")
    ap.add_argument("--max-steps", type=int, default=10**9)
    ap.add_argument("--init", help="training state (.pt) or exported weights (.safetensors) to continue from")
    ap.add_argument("--batch", type=int, default=20, help="crops per step and GPU")
    ap.add_argument("--length", type=int, default=48, help="latent frames per crop")
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--lr-end", type=float, default=0.1, help="final learning rate, as a fraction of --lr")
    ap.add_argument("--lr-disc", type=float, default=3e-4)
    ap.add_argument("--noise", type=float, default=0.3)
    ap.add_argument("--disc-width", type=int, default=24, help="0: no discriminators")
    ap.add_argument("--disc-warm", type=int, default=300, help="steps before the decoder uses the discriminators")
    ap.add_argument("--optimizer", choices=["muon", "adam"], default="muon")
    ap.add_argument("--float32", action="store_true", help="float32 activations instead of bfloat16")
    ap.add_argument("--voices", nargs="+", default=["heart", "joe"], help="voices, in equal parts")
    ap.add_argument("--hours", type=float, default=30)
    ap.add_argument("--wait-shards", type=int, default=8, help="number of shards to wait for")
    ap.add_argument("--save-every", type=float, default=60)
    ap.add_argument("--micro", action="store_true")
    a = ap.parse_args()
    t_start = time.time()
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    device = "cpu"
    if torch.cuda.is_available():
        device = f"cuda:{os.environ.get('LOCAL_RANK', 0)}"
        torch.cuda.set_device(device)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.benchmark = True
    if world > 1:
        dist.init_process_group("nccl" if device != "cpu" else "gloo")
    dtype = torch.float32 if a.float32 or device == "cpu" else torch.bfloat16
    os.makedirs(a.out, exist_ok=True)
    torch.manual_seed(0)
    frozen = a.phase == "decoder"
    adversarial = frozen and a.disc_width > 0
    cfg = common.model_config(a.micro)["audio_vae_config"]
    codec = load_codec(a.init, cfg) if a.init else Codec(cfg)
    discs = Discriminators(4 if a.micro else a.disc_width) if adversarial else None
    found: dict[str, Any] = (
        torch.load(a.init, map_location="cpu", weights_only=True)
        if adversarial and a.init and a.init.endswith(".pt")
        else {}
    )
    trained_discs = "discs" in found
    if discs is not None and trained_discs:
        discs.load_state_dict(found["discs"])
    codec = codec.to(device)
    mel = MelLoss().to(device)
    for p in codec.parameters():
        p.requires_grad_(not frozen)
    for p in codec.decoder.parameters():
        p.requires_grad_(True)
    train = [p for p in codec.parameters() if p.requires_grad]
    muon = [p for p in hidden_matrices(codec) if p.requires_grad and a.optimizer == "muon" and p.numel() % 8 == 0]
    chosen = {id(p) for p in muon}
    rest = [p for p in train if id(p) not in chosen]
    opt = FlatOptimizer(
        muon,
        [p for p in rest if p.ndim == 2],
        [p for p in rest if p.ndim != 2],
        betas=(0.8, 0.99),
        weight_decay=1e-3,
        clip=5.0,
        ema=0.999,
    )
    opt.share()
    if discs is not None:
        discs = discs.to(device)
        disc_params = list(discs.parameters())
        opt_d = FlatOptimizer([], disc_params, [], betas=(0.8, 0.99), weight_decay=1e-3, clip=10.0)
        opt_d.share()
    if rank == 0:
        print(
            f"codec {sum(p.numel() for p in codec.parameters()) / 1e6:.2f} M, training "
            f"{sum(p.numel() for p in train) / 1e6:.2f} M, "
            f"{len(muon)} matrices by Muon, {world} x {device}, ready after {time.time() - t_start:.0f} s",
            flush=True,
        )
    torch.manual_seed(1 + rank + int(time.time()) % 1000 * 64 if a.init else 1 + rank)

    pool = Pool(a.speech, device, a.hours, rank, world)
    while pool.frames < 2 * a.length or len(pool.seen) < a.wait_shards:
        if not pool.scan(a.voices, limit=60 if frozen else 4):
            time.sleep(0.5)
    if rank == 0:
        print(
            f"data ready after {time.time() - t_start:.0f} s: {pool.frames / common.FRAME_RATE / 3600:.2f} h on the "
            "first GPU",
            flush=True,
        )

    span = torch.arange((a.length - CONTEXT) * FRAME, device=device)
    stats = torch.zeros(4, device=device)
    weight_adv = torch.zeros((), device=device)

    def losses() -> None:
        opt.grad.zero_()
        high, low, first = pool.crops(a.batch, a.length)
        z = codec.encode(low, dtype, frozen=frozen)
        z = z + torch.randn_like(z) * (torch.rand(a.batch, 1, 1, device=device) * a.noise)
        y = codec.decoder(z, dtype)
        index = torch.where(first, 0, CONTEXT * FRAME)[:, None] + span
        real, fake = high.gather(1, index), y.gather(1, index)
        loss_mel = mel(fake, real)
        loss = loss_mel + 3 * (fake.mean(-1) - real.mean(-1)).abs().mean()
        stats[0].lerp_(loss_mel.detach(), 0.02)
        if discs is None:
            loss.backward(inputs=train)
            return
        opt_d.grad.zero_()
        with torch.autocast(device.split(":")[0], torch.bfloat16, enabled=dtype == torch.bfloat16, cache_enabled=False):
            outs = discs(torch.cat([real, fake]))
        loss_d: Any = 0.0  # tensors after the first addition
        loss_adv: Any = 0.0
        loss_fm: Any = 0.0
        for score, maps in outs:
            r, f = score.float().chunk(2)
            loss_d = loss_d + (1 - r).square().mean() + f.square().mean()
            loss_adv = loss_adv + (1 - f).square().mean()
            for m in maps:
                r, f = m.chunk(2)
                loss_fm = loss_fm + (f.float() - r.detach().float()).abs().mean()
        loss_d.backward(inputs=disc_params, retain_graph=True)
        (15 * loss + weight_adv * (loss_adv + 2 * loss_fm)).backward(inputs=train)
        stats[1:].lerp_(torch.stack([loss_d.detach(), loss_adv.detach(), loss_fm.detach()]), 0.02)

    def update() -> None:
        opt.step()
        if adversarial:
            opt_d.step()

    def save(tag: str) -> None:
        if world > 1:
            for t in (codec.mean, codec.var):
                opt.average(t)
        if rank:
            return
        live = opt.flat.clone()
        opt.flat.copy_(opt.ema_flat)
        codec.export(os.path.join(a.out, "audiovae.tmp"))
        state = {"codec": {k: v.detach().cpu().clone() for k, v in codec.state_dict().items()}}
        if discs is not None:
            state["discs"] = {k: v.detach().cpu().clone() for k, v in discs.state_dict().items()}
        opt.flat.copy_(live)
        torch.save(state, os.path.join(a.out, f"{a.phase}.tmp"))
        os.replace(os.path.join(a.out, "audiovae.tmp"), os.path.join(a.out, "audiovae.safetensors"))
        os.replace(os.path.join(a.out, f"{a.phase}.tmp"), os.path.join(a.out, f"{a.phase}.pt"))
        print(f"saved {tag} after {time.time() - t_start:.0f} s", flush=True)

    step_losses, step_update = graphed(losses, device), graphed(update, device)
    opt.share()
    for o in [opt, opt_d] if adversarial else [opt]:  # the warm-up before the capture had a learning rate of zero
        for t in (o.m, o.v, o.count):
            t.zero_()
    if rank == 0:
        print(f"first step after {time.time() - t_start:.0f} s", flush=True)
    begin = last_save = log_t = time.time()
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
        if step % 40 == 0:
            pool.scan(a.voices)
        warm = min(1.0, (step + 1) / 200)
        lr = warm * (a.lr_end + (1 - a.lr_end) * 0.5 * (1 + math.cos(math.pi * min(progress, 1))))
        opt.lr.fill_(a.lr * lr)
        if adversarial:
            opt_d.lr.fill_(a.lr_disc * lr)
            weight_adv.fill_(1.0 if trained_discs or step >= a.disc_warm else 0.0)
        step_losses()
        opt.average()
        if adversarial:
            opt_d.average()
        step_update()
        step += 1
        if step <= 2 or step - logged >= (500 if device != "cpu" else 5):
            s, norm = stats.tolist(), opt.norm.item()
            now = time.time()
            if rank == 0:
                print(
                    f"{a.phase} step {step} {now - t_start:.0f} s {(now - log_t) / max(step - logged, 1) * 1e3:.1f} "
                    f"ms/step mel {s[0]:.4f} d {s[1]:.3f} "
                    f"adv {s[2]:.3f} fm {s[3]:.3f} grad {norm:.2f} data {pool.frames / common.FRAME_RATE / 3600:.1f} h "
                    f"var {codec.var.min().item():.3g}..{codec.var.max().item():.3g}",
                    flush=True,
                )
            logged, log_t = step, now
        if (a.save_every and time.time() - last_save > a.save_every and world == 1) or (
            step % 5000 == 0 and device != "cpu"
        ):
            save("checkpoint")
            last_save = time.time()
    save("final")
    if rank == 0:
        open(os.path.join(a.out, f"{a.phase}.done"), "w").close()
    if world > 1:
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
