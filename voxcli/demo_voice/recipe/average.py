"""Average weights of the same shapes: `python average.py OUT.safetensors IN.safetensors IN.safetensors ...`

For checkpoints of a run whose learning rate has not decayed: averaging has an effect similar to the missing decay.
"""

import sys
from typing import cast

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file


def main(out: str, *sources: str) -> None:
    weights = [load_file(s) for s in sources]
    mean = {
        k: cast(torch.Tensor, sum(w[k].double() for w in weights) / len(weights)).to(v.dtype)
        if v.is_floating_point()
        else v
        for k, v in weights[0].items()
    }
    with safe_open(sources[0], "pt") as f:
        save_file(mean, out, metadata=f.metadata())


if __name__ == "__main__":
    main(*sys.argv[1:])
