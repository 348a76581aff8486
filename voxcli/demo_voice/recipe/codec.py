"""The AudioVAE of the demo voice, written for training: same arithmetic as the reference, channels last.

With signals as [batch, time, channels] a strided convolution of kernel 2s is two matrix products on blocks of s
samples, its transpose is two matrix products followed by a view, and only the depthwise convolutions and the snakes
need custom kernels (kernels.py). Weights are plain (no weight norm); `export` writes them under the reference
names as weight_v and weight_g. `check` compares both passes with the reference module.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, cast

import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

import common
from kernels import TAPS, add_snake, depth_snake

FRAME = common.OUT_RATE // common.FRAME_RATE  # samples of 24 kHz per latent frame
FRAME_IN = common.IN_RATE // common.FRAME_RATE


def linear(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor | None = None) -> torch.Tensor:
    return F.linear(x, w.to(x.dtype), None if b is None else b.to(x.dtype))


def later(x: torch.Tensor) -> torch.Tensor:
    """Delay a signal by one step: row t of the result is row t - 1 of `x`."""
    return F.pad(x, (0, 0, 1, 0))[:, :-1]


def matrix(rows: int, columns: int, gain: float = 1.0) -> nn.Parameter:
    return nn.Parameter(torch.randn(rows, columns) * gain / math.sqrt(columns))


class Unit(nn.Module):
    """A residual unit x + point(snake(depthwise(snake(x)))) from s = snake(x); the next layer adds x."""

    def __init__(self, channels: int, dilation: int):
        super().__init__()
        self.dilation = dilation
        self.a1, self.a2 = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.ones(channels))
        self.w, self.b = (
            nn.Parameter(torch.randn(TAPS, channels) / math.sqrt(TAPS)),
            nn.Parameter(torch.zeros(channels)),
        )
        self.point, self.point_b = matrix(channels, channels, 0.4), nn.Parameter(torch.zeros(channels))

    def forward(self, s: torch.Tensor) -> torch.Tensor:
        return linear(depth_snake(s, self.w, self.b, self.a2, self.dilation), self.point, self.point_b)


class Units(nn.Module):
    """Three residual units and the snake after them."""

    def __init__(self, channels: int):
        super().__init__()
        self.units = cast("list[Unit]", nn.ModuleList(Unit(channels, d) for d in (1, 3, 9)))
        self.a = nn.Parameter(torch.ones(channels))

    def forward(self, x: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        for unit in self.units:
            x, s = add_snake(x, h, unit.a1)
            h = unit(s)
        return add_snake(x, h, self.a)[1]


class Encoder(nn.Module):
    def __init__(self, width: int, rates: list[int], latent: int):
        super().__init__()
        self.rates = rates
        self.first, self.first_b = matrix(width, TAPS), nn.Parameter(torch.zeros(width))
        self.units = cast("list[Units]", nn.ModuleList())
        self.down = cast("list[nn.Parameter]", nn.ParameterList())
        self.down_b = cast("list[nn.Parameter]", nn.ParameterList())
        for s in rates:
            self.units.append(Units(width))
            self.down.append(matrix(4 * width, s * width, 0.7))  # rows: previous block, this block
            self.down_b.append(nn.Parameter(torch.zeros(2 * width)))
            width *= 2
        self.mu, self.mu_b = matrix(latent, 3 * width), nn.Parameter(torch.zeros(latent))

    def forward(self, wav: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """wav [batch, samples of 16 kHz] -> latents [batch, frames, latent]."""
        x = linear(F.pad(wav, (TAPS - 1, 0)).unfold(-1, TAPS, 1).to(dtype), self.first, self.first_b)
        h = torch.zeros_like(x)
        for s, units, w, b in zip(self.rates, self.units, self.down, self.down_b, strict=True):
            x = units(x, h)
            B, T, C = x.shape
            before, x = linear(x.reshape(B, T // s, s * C), w).split(2 * C, -1)
            x, h = x + b.to(dtype), later(before)
        x = x + h
        x = x.float() if x.dtype == torch.bfloat16 else x
        return linear(torch.cat([later(later(x)), later(x), x], -1), self.mu, self.mu_b)


class Decoder(nn.Module):
    def __init__(self, width: int, rates: list[int], latent: int):
        super().__init__()
        self.rates = rates
        self.depth, self.depth_b = (
            nn.Parameter(torch.randn(TAPS, latent) / math.sqrt(TAPS)),
            nn.Parameter(torch.zeros(latent)),
        )
        self.first, self.first_b, self.first_a = (
            matrix(width, latent),
            nn.Parameter(torch.zeros(width)),
            nn.Parameter(torch.ones(width)),
        )
        self.up = cast("list[nn.Parameter]", nn.ParameterList())
        self.up_b = cast("list[nn.Parameter]", nn.ParameterList())
        self.units = cast("list[Units]", nn.ModuleList())
        for s in rates:
            self.up.append(matrix(2 * s * (width // 2), width, 0.5))  # rows: (now or one later, step, channel)
            width //= 2
            self.up_b.append(nn.Parameter(torch.zeros(width)))
            self.units.append(Units(width))
        self.last, self.last_b = matrix(TAPS, width, 0.05), nn.Parameter(torch.zeros(1))

    def forward(self, z: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """z [batch, frames, latent] -> samples [batch, frames * 960]."""
        B, T, _ = z.shape
        padded = F.pad(z, (0, 0, TAPS - 1, 0))
        x = sum(padded[:, k : k + T] * self.depth[k] for k in range(TAPS)) + self.depth_b
        x = linear(x, self.first, self.first_b)
        x = add_snake(x.to(dtype), torch.zeros_like(x, dtype=dtype), self.first_a)[1]
        for s, w, b, units in zip(self.rates, self.up, self.up_b, self.units, strict=True):
            now, then = w.chunk(2)
            C = b.shape[0]
            x, h = linear(x, now, b.repeat(s)), linear(later(x), then)
            x = units(x.view(B, -1, C), h.view(B, -1, C))
        rows = F.pad(linear(x.float() if x.dtype == torch.bfloat16 else x, self.last), (0, 0, TAPS - 1, 0))
        T = x.shape[1]
        return torch.tanh(sum(rows[:, k : k + T, k] for k in range(TAPS)) + self.last_b)


class Codec(nn.Module):
    """Encoder, running latent statistics and decoder. Latents get zero mean and unit variance instead of a KL term."""

    mean: torch.Tensor
    var: torch.Tensor

    def __init__(self, cfg: dict[str, Any]):
        super().__init__()
        self.cfg = cfg
        self.encoder = Encoder(cfg["encoder_dim"], cfg["encoder_rates"], cfg["latent_dim"])
        self.decoder = Decoder(cfg["decoder_dim"], cfg["decoder_rates"], cfg["latent_dim"])
        self.register_buffer("mean", torch.zeros(cfg["latent_dim"]))
        self.register_buffer("var", torch.ones(cfg["latent_dim"]))

    def encode(self, wav: torch.Tensor, dtype: torch.dtype, frozen: bool = True) -> torch.Tensor:
        """Return normalized latents. frozen=False: use the statistics of the batch, and update the running ones."""
        mu = self.encoder(wav, dtype)
        mean, var = self.mean, self.var
        if not frozen:
            mean, var = mu.mean((0, 1)), mu.var((0, 1))
            with torch.no_grad():
                self.mean.lerp_(mean, 0.02)
                self.var.lerp_(var, 0.02)
        return (mu - mean) / (var + 1e-5).sqrt()

    # ----------------------------------------------------------------------- reference layout
    def _pairs(self) -> Iterator[tuple[str, torch.Tensor, torch.Tensor | None]]:
        """Yield (reference prefix, weight in the reference's shape, bias) and (reference name, snake alpha, None)."""

        def unit(prefix: str, u: Unit) -> Iterator[tuple[str, torch.Tensor, torch.Tensor | None]]:
            yield f"{prefix}.block.1", u.w.T[:, None], u.b
            yield f"{prefix}.block.3", u.point[:, :, None], u.point_b
            yield f"{prefix}.block.0.alpha", u.a1, None
            yield f"{prefix}.block.2.alpha", u.a2, None

        e, d = self.encoder, self.decoder
        yield "encoder.block.0", e.first[:, None], e.first_b
        for i, (s, units, w, b) in enumerate(zip(e.rates, e.units, e.down, e.down_b, strict=True)):
            prefix = f"encoder.block.{i + 1}.block"
            for j, u in enumerate(units.units):
                yield from unit(f"{prefix}.{j}", u)
            yield f"{prefix}.3.alpha", units.a, None
            n = b.shape[0]
            parts = [half.reshape(n, s, -1).permute(0, 2, 1) for half in w.chunk(2)]
            yield f"{prefix}.4", torch.cat(parts, -1), b
        std = (self.var + 1e-5).sqrt()
        yield (
            "encoder.fc_mu",
            e.mu.reshape(e.mu.shape[0], 3, -1).permute(0, 2, 1) / std[:, None, None],
            (e.mu_b - self.mean) / std,
        )
        yield "decoder.model.0", d.depth.T[:, None], d.depth_b
        yield "decoder.model.1", d.first[:, :, None], d.first_b
        alphas = [d.first_a] + [u.a for u in d.units]
        for i, (s, w, b, units) in enumerate(zip(d.rates, d.up, d.up_b, d.units, strict=True)):
            prefix = f"decoder.model.{i + 2}.block"
            yield f"{prefix}.0.alpha", alphas[i], None
            parts = [half.reshape(s, b.shape[0], -1).permute(2, 1, 0) for half in w.chunk(2)]
            yield f"{prefix}.1", torch.cat(parts, -1), b
            for j, u in enumerate(units.units):
                yield from unit(f"{prefix}.{j + 2}", u)
        n = len(d.rates) + 2
        yield f"decoder.model.{n}.alpha", alphas[-1], None
        yield f"decoder.model.{n + 1}", d.last.T[None], d.last_b

    @torch.no_grad()
    def reference_state(self) -> dict[str, torch.Tensor]:
        state = {}
        for name, w, b in self._pairs():
            if b is None:
                state[name] = w.reshape(1, -1, 1)
                continue
            state[f"{name}.weight_v"] = w
            state[f"{name}.weight_g"] = w.flatten(1).norm(dim=1).reshape(-1, 1, 1)
            state[f"{name}.bias"] = b
        width = self.cfg["decoder_dim"]
        buckets = len(self.cfg["sr_bin_boundaries"]) + 1
        for i in range(len(self.cfg["decoder_rates"])):  # there is one output rate, so these stay neutral
            state[f"decoder.sr_cond_model.{i + 2}.scale_embed.weight"] = torch.ones(buckets, width >> i)
            state[f"decoder.sr_cond_model.{i + 2}.bias_embed.weight"] = torch.zeros(buckets, width >> i)
        state = {k: v.float().cpu().contiguous() for k, v in state.items()}
        state["decoder.sr_bin_boundaries"] = torch.tensor(self.cfg["sr_bin_boundaries"], dtype=torch.int32)
        return state

    def export(self, path: str) -> None:
        """Write audiovae.safetensors in float16, with the latent statistics folded into fc_mu."""
        save_file(
            {k: v.half() if v.is_floating_point() else v for k, v in self.reference_state().items()},
            path,
            metadata={"format": "pt"},
        )

    @torch.no_grad()
    def load_reference(self, state: dict[str, torch.Tensor]) -> None:
        """Load exported weights: the inverse of `reference_state`."""

        def weight(name: str) -> tuple[torch.Tensor, torch.Tensor]:
            v = state[f"{name}.weight_v"].float()
            return v * (state[f"{name}.weight_g"].float() / v.flatten(1).norm(dim=1).reshape(-1, 1, 1)), state[
                f"{name}.bias"
            ].float()

        def alpha(name: str) -> torch.Tensor:
            return state[f"{name}.alpha"].float().reshape(-1)

        def put(
            p: torch.Tensor,
            q: torch.Tensor,
            pair: tuple[torch.Tensor, torch.Tensor],
            form: Callable[[torch.Tensor], torch.Tensor],
        ) -> None:
            p.copy_(form(pair[0]))
            q.copy_(pair[1])

        def unit(prefix: str, u: Unit) -> None:
            put(u.w, u.b, weight(f"{prefix}.block.1"), lambda w: w[:, 0].T)
            put(u.point, u.point_b, weight(f"{prefix}.block.3"), lambda w: w[:, :, 0])
            u.a1.copy_(alpha(f"{prefix}.block.0"))
            u.a2.copy_(alpha(f"{prefix}.block.2"))

        e, d = self.encoder, self.decoder
        put(e.first, e.first_b, weight("encoder.block.0"), lambda w: w[:, 0])
        for i, (units, w, b) in enumerate(zip(e.units, e.down, e.down_b, strict=True)):
            prefix = f"encoder.block.{i + 1}.block"
            for j, u in enumerate(units.units):
                unit(f"{prefix}.{j}", u)
            units.a.copy_(alpha(f"{prefix}.3"))
            put(
                w,
                b,
                weight(f"{prefix}.4"),
                lambda w: torch.cat([half.permute(0, 2, 1).flatten(1) for half in w.chunk(2, -1)]),
            )
        put(e.mu, e.mu_b, weight("encoder.fc_mu"), lambda w: w.permute(0, 2, 1).flatten(1))
        self.mean.zero_()
        self.var.fill_(1 - 1e-5)
        put(d.depth, d.depth_b, weight("decoder.model.0"), lambda w: w[:, 0].T)
        put(d.first, d.first_b, weight("decoder.model.1"), lambda w: w[:, :, 0])
        d.first_a.copy_(alpha("decoder.model.2.block.0"))
        for i, (w, b, units) in enumerate(zip(d.up, d.up_b, d.units, strict=True)):
            prefix = f"decoder.model.{i + 2}.block"
            put(
                w,
                b,
                weight(f"{prefix}.1"),
                lambda w: torch.cat([half.permute(2, 1, 0).flatten(0, 1) for half in w.chunk(2, -1)]),
            )
            for j, u in enumerate(units.units):
                unit(f"{prefix}.{j + 2}", u)
            last = i + 1 == len(d.rates)
            units.a.copy_(alpha(f"decoder.model.{i + 3}" if last else f"decoder.model.{i + 3}.block.0"))
        put(d.last, d.last_b, weight(f"decoder.model.{len(d.rates) + 3}"), lambda w: w[0].T)


def load_codec(path: str, cfg: dict[str, Any]) -> Codec:
    """Load a codec from a training state (`.pt` of train_codec.py) or exported weights (`audiovae.safetensors`)."""
    codec = Codec(cfg)
    if path.endswith(".safetensors"):
        codec.load_reference(load_file(path))
    else:
        codec.load_state_dict(torch.load(path, map_location="cpu", weights_only=True)["codec"])
    return codec


# --------------------------------------------------------------------------- losses
def spectrum(x: torch.Tensor, window: torch.Tensor) -> torch.Tensor:
    """Return the spectrogram [batch, frames, bins, re/im]. The backward pass of unfold is faster than torch.stft's."""
    n = window.shape[0]
    x = F.pad(x[:, None], (n // 2, n // 2), "reflect")[:, 0]
    return torch.view_as_real(torch.fft.rfft(x.unfold(-1, n, n // 4) * window))


class MelLoss(nn.Module):
    """L1 distance of log-mel spectra at six resolutions, with a floor 80 dB below full scale.

    Without the floor, silence and the empty band above a teacher's sampling rate would outweigh speech.
    """

    sizes = ((64, 6), (128, 12), (256, 24), (512, 48), (1024, 96), (2048, 192))

    def __init__(self) -> None:
        super().__init__()
        for n, m in self.sizes:
            self.register_buffer(f"w{n}", torch.hann_window(n), persistent=False)
            self.register_buffer(f"m{n}", self.filters(n, m), persistent=False)

    @staticmethod
    def filters(n_fft: int, n_mels: int) -> torch.Tensor:
        top = 2595 * math.log10(1 + common.OUT_RATE / 2 / 700)
        edges = 700 * (10 ** (torch.linspace(0, top, n_mels + 2, dtype=torch.float64) / 2595) - 1)
        bins = torch.linspace(0, common.OUT_RATE / 2, n_fft // 2 + 1, dtype=torch.float64)
        low, mid, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
        half = (high - low).clamp(min=2 * common.OUT_RATE / n_fft) / 2  # never narrower than a bin
        triangle = torch.minimum((bins - mid + half) / half, (mid + half - bins) / half).clamp(min=0)
        return (triangle / triangle.sum(1, keepdim=True).clamp(min=1e-9)).float().T.contiguous()

    def log_mel(self, x: torch.Tensor, n: int) -> torch.Tensor:
        power = spectrum(x, getattr(self, f"w{n}")).square().sum(-1) / (n / 4) ** 2
        return ((power + 1e-10).sqrt() @ getattr(self, f"m{n}") + 1e-4).log10()

    def forward(self, fake: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        loss = fake.new_zeros(())
        for n, _ in self.sizes:
            with torch.no_grad():
                target = self.log_mel(real, n)
            loss = loss + (self.log_mel(fake, n) - target).abs().mean()
        return loss


Judgement = tuple[torch.Tensor, list[torch.Tensor]]  # scores, feature maps of the layers


def wn2d(*args: Any, **kwargs: Any) -> nn.Module:
    return nn.utils.parametrizations.weight_norm(nn.Conv2d(*args, **kwargs))


class PeriodDisc(nn.Module):
    def __init__(self, period: int, width: int):
        super().__init__()
        self.period = period
        ch = [1, width, width * 2, width * 4, width * 8]
        self.convs = nn.ModuleList(
            [wn2d(ch[i], ch[i + 1], (5, 1), (3, 1), (2, 0)) for i in range(4)] + [wn2d(ch[4], ch[4], (5, 1), 1, (2, 0))]
        )
        self.out = wn2d(ch[4], 1, (3, 1), 1, (1, 0))

    def forward(self, x: torch.Tensor) -> Judgement:
        x = F.pad(x[:, None], (0, -x.shape[-1] % self.period), "reflect").view(x.shape[0], 1, -1, self.period)
        maps = []
        for c in self.convs:
            x = F.leaky_relu(c(x), 0.1).contiguous(memory_format=torch.channels_last)
            maps.append(x)
        return self.out(x), maps


class SpecDisc(nn.Module):
    window: torch.Tensor

    def __init__(self, n_fft: int, width: int):
        super().__init__()
        self.n_fft = n_fft
        self.register_buffer("window", torch.hann_window(n_fft), persistent=False)
        self.convs = nn.ModuleList(
            [wn2d(2, width, (3, 9), 1, (1, 4))]
            + [wn2d(width, width, (3, 9), (1, 2), (1, 4)) for _ in range(3)]
            + [wn2d(width, width, 3, 1, 1)]
        )
        self.out = wn2d(width, 1, 3, 1, 1)

    def forward(self, x: torch.Tensor) -> Judgement:
        with torch.autocast(x.device.type, enabled=False):
            s = spectrum(x.float(), self.window).permute(0, 3, 1, 2)  # batch, re/im, frames, bins
            s = s * (self.n_fft**-0.5) * 4
        maps = []
        for c in self.convs:
            s = F.leaky_relu(c(s), 0.1)
            maps.append(s)
        return self.out(s), maps


class Discriminators(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.nets = nn.ModuleList(
            [PeriodDisc(p, width) for p in (2, 3, 5, 7, 11)] + [SpecDisc(n, width) for n in (2048, 1024, 512)]
        )

    def forward(self, x: torch.Tensor) -> list[Judgement]:
        return [net(x) for net in self.nets]


def check() -> None:
    """Compare encoder, decoder, export and import with the reference module."""
    common.import_reference()
    from voxcpm.modules.audiovae.audio_vae_v2 import AudioVAE, AudioVAEConfig

    torch.manual_seed(0)
    for micro in (True, False):
        cfg = common.model_config(micro)["audio_vae_config"]
        codec, vae = Codec(cfg), AudioVAE(AudioVAEConfig(**cfg))
        for p in codec.parameters():
            p.data += 0.01 * torch.randn_like(p)
        codec.mean.normal_()
        again = Codec(cfg)
        again.load_reference(codec.reference_state())
        for (n, v), w in zip(codec.reference_state().items(), again.reference_state().values(), strict=True):
            assert torch.allclose(v, w, rtol=1e-4, atol=1e-5), n
        missing = vae.load_state_dict(codec.reference_state(), strict=False)  # float32
        assert not missing.unexpected_keys and all("fc_logvar" in k for k in missing.missing_keys), missing
        codec, vae, wav = codec.double(), vae.double(), 0.3 * torch.randn(2, FRAME_IN * 12, dtype=torch.float64)
        with torch.no_grad():
            z, ref = codec.encode(wav, torch.float64), vae.encode(wav[:, None], common.IN_RATE).transpose(1, 2)
            y, ref_y = codec.decoder(z, torch.float64), vae.decode(z.transpose(1, 2))[:, 0]
        count = sum(p.numel() for p in codec.parameters())
        print(
            f"codec {count / 1e6:.2f} M: maximum difference of the encoder {(z - ref).abs().max():.1e}, of the decoder "
            f"{(y - ref_y).abs().max():.1e} (peak {ref_y.abs().max():.2f})"
        )
        assert (z - ref).abs().max() < 1e-3 and (y - ref_y).abs().max() < 1e-4


if __name__ == "__main__":
    check()
