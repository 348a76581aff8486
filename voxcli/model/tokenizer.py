"""Text to token ids, with multi-character Han tokens split into single characters, as in training.

Equals the reference package's `mask_multichar_chinese_tokens(LlamaTokenizerFast)`. Adds no BOS and no special tokens.
"""

from __future__ import annotations

from pathlib import Path

import tokenizers

from voxcli.errors import CheckpointError, InputError, SynthesisError, in_one_line
from voxcli.model.tokenizerfile import panics_as_errors, read_tokenizer

_WORD_START = "\u2581"


def _is_han(text: str) -> bool:
    return all("\u4e00" <= char <= "\u9fff" for char in text)


class Tokenizer:
    def __init__(self, backend: tokenizers.Tokenizer, vocab_size: int | None = None):
        """vocab_size: number of ids that the model knows; None: all ids of the tokenizer."""
        self._backend, self._vocab_size = backend, vocab_size
        vocab = backend.get_vocab(with_added_tokens=True)
        self._unknown = vocab.get(getattr(backend.model, "unk_token", None) or "<unk>")
        unknown = self._unknown or 0
        multichar = {token for token in vocab if len(token) >= 2 and _is_han(token)}
        # The split drops a leading word mark, as in training.
        self._split: dict[int, list[int]] = {
            token_id: [vocab.get(char, unknown) for char in bare]
            for token, token_id in vocab.items()
            if (bare := token.replace(_WORD_START, "")) in multichar
        }

    @classmethod
    def from_folder(cls, folder: Path, vocab_size: int) -> Tokenizer:
        """Read `folder`/tokenizer.json for a model with `vocab_size` token ids.

        Added tokens may have higher ids, for example chat tokens after transformers has saved the file; only a text
        that contains one is refused. Raises CheckpointError if the file is missing, damaged or of another model.
        """
        path = folder / "tokenizer.json"
        backend = read_tokenizer(path)
        highest = max(backend.get_vocab(with_added_tokens=False).values(), default=0)
        if highest >= vocab_size:
            raise CheckpointError(f"{path}: it has a token {highest}, but config.json has vocab_size {vocab_size}")
        return cls(backend, vocab_size)

    def encode(self, text: str) -> list[int]:
        """Return the token ids of `text`; an empty list for an empty string.

        Raises SynthesisError if the tokenizer fails, InputError if the text contains a token that the model does not
        know.
        """
        ids: list[int] = []
        for token_id in self._encoded(text).ids:
            ids.extend(self._split.get(token_id, (token_id,)))
        if self._vocab_size is not None and max(ids, default=0) >= self._vocab_size:
            unknown = self._backend.id_to_token(max(ids))
            raise InputError(f"the text contains {unknown!r}, a token that this model does not know; remove it")
        return ids

    def unknown(self, text: str) -> str:
        """Return the characters of `text` that have no token, in order. Raises SynthesisError as `encode` does."""
        if self._unknown is None:
            return ""
        encoded = self._encoded(text)
        return "".join(
            text[start:end]
            for token_id, (start, end) in zip(encoded.ids, encoded.offsets, strict=True)
            if token_id == self._unknown
        )

    def _encoded(self, text: str) -> tokenizers.Encoding:
        try:
            with panics_as_errors():
                return self._backend.encode(text, add_special_tokens=False)
        except Exception as error:  # tokenizers raises plain Exception
            raise SynthesisError(f"the model's tokenizer failed on this text ({in_one_line(error)})") from error
