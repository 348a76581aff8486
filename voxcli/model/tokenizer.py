"""Text to token ids, as the checkpoint was trained: multi-character Han tokens are split into single characters.

Equals the reference package's `mask_multichar_chinese_tokens(LlamaTokenizerFast)`. No BOS, no special tokens added.
"""

from __future__ import annotations

from pathlib import Path

import tokenizers

from voxcli.errors import CheckpointError

_WORD_START = "\u2581"


def _is_han(text: str) -> bool:
    return all("\u4e00" <= char <= "\u9fff" for char in text)


class Tokenizer:
    def __init__(self, backend: tokenizers.Tokenizer):
        self._backend = backend
        vocab = backend.get_vocab(with_added_tokens=True)
        unknown = vocab.get("<unk>", 0)
        multichar = {token for token in vocab if len(token) >= 2 and _is_han(token)}
        # A leading word mark goes with the split, as in training.
        self._split: dict[int, list[int]] = {
            token_id: [vocab.get(char, unknown) for char in bare]
            for token, token_id in vocab.items()
            if (bare := token.replace(_WORD_START, "")) in multichar
        }

    @classmethod
    def from_folder(cls, folder: Path) -> Tokenizer:
        """Read `folder`/tokenizer.json; CheckpointError when it is missing or damaged."""
        path = folder / "tokenizer.json"
        if not path.is_file():
            raise CheckpointError(f"{folder}: tokenizer.json is missing")
        try:
            backend = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers raises plain Exception
            raise CheckpointError(f"{path}: not a tokenizer ({error})") from None
        return cls(backend)

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`; none for an empty string."""
        ids: list[int] = []
        for token_id in self._backend.encode(text, add_special_tokens=False).ids:
            ids.extend(self._split.get(token_id, (token_id,)))
        return ids
