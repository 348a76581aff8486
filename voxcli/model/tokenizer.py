"""Text to token ids, as the checkpoint was trained: multi-character Han tokens are split into single characters.

Equals the reference package's `mask_multichar_chinese_tokens(LlamaTokenizerFast)`. No BOS, no special tokens added.
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
        """vocab_size: the model knows the ids below it; None: all that there are."""
        self._backend, self._vocab_size = backend, vocab_size
        vocab = backend.get_vocab(with_added_tokens=True)
        self._unknown = vocab.get(getattr(backend.model, "unk_token", None) or "<unk>")
        unknown = self._unknown or 0
        multichar = {token for token in vocab if len(token) >= 2 and _is_han(token)}
        # A leading word mark goes with the split, as in training.
        self._split: dict[int, list[int]] = {
            token_id: [vocab.get(char, unknown) for char in bare]
            for token, token_id in vocab.items()
            if (bare := token.replace(_WORD_START, "")) in multichar
        }

    @classmethod
    def from_folder(cls, folder: Path, vocab_size: int) -> Tokenizer:
        """Read `folder`/tokenizer.json for a model that knows the ids below `vocab_size`.

        Tokens that were added may have higher ids, as those of a chat have once transformers saved the file again: they
        matter only to a text they stand in. Raises CheckpointError when it is missing, damaged or of another model.
        """
        path = folder / "tokenizer.json"
        backend = read_tokenizer(path)
        highest = max(backend.get_vocab(with_added_tokens=False).values(), default=0)
        if highest >= vocab_size:
            raise CheckpointError(f"{path}: it has a token {highest}, config.json asks for ids below {vocab_size}")
        return cls(backend, vocab_size)

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`; none for an empty string.

        Raises SynthesisError when the tokenizer fails, InputError for a token that the model does not know.
        """
        ids: list[int] = []
        for token_id in self._encoded(text).ids:
            ids.extend(self._split.get(token_id, (token_id,)))
        if self._vocab_size is not None and max(ids, default=0) >= self._vocab_size:
            unknown = self._backend.id_to_token(max(ids))
            raise InputError(f"the text has {unknown!r}, a token that this model does not know; leave it out")
        return ids

    def unknown(self, text: str) -> str:
        """The characters of `text` that no token stands for, in their order. Raises SynthesisError."""
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
            raise SynthesisError(f"the model's tokenizer failed at this text ({in_one_line(error)})") from error
