from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from voxcli.errors import CheckpointError, InputError, SynthesisError
from voxcli.model.tokenizer import Tokenizer
from voxcli.model.weights import load_model

LONGER = {"type": "Replace", "pattern": {"String": "e"}, "content": "e" * 16}
DOUBLE = {"type": "Replace", "pattern": {"String": "e"}, "content": "ee"}
ENDLESS = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}


def changed(source: Path, folder: Path, **parts: Any) -> Path:
    """Write the tokenizer of `source` to `folder` with some parts replaced, and return `folder`."""
    data = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    (folder / "tokenizer.json").write_text(json.dumps(data | parts), encoding="utf-8")
    return folder


def sequence(*steps: dict[str, Any], inner: str = "normalizers") -> dict[str, Any]:
    return {"type": "Sequence", inner: list(steps)}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"normalizer": LONGER | {"content": "e" * 100}}, "normalizer Replace: its text is not a string of at most 16"),
        ({"normalizer": sequence(LONGER, sequence(DOUBLE))}, "its replacements could make a text 32 times as long"),
        ({"normalizer": sequence(*[LONGER] * 5)}, r"could make a text 1\.05e\+06 times as long"),
        ({"normalizer": LONGER | {"pattern": {"Regex": "e"}}}, "normalizer Replace: its pattern is not plain text"),
        ({"normalizer": LONGER | {"pattern": {"String": ""}}}, "normalizer Replace: its pattern is not plain text"),
        ({"normalizer": {"type": "Prepend", "prepend": "x" * 17}}, "normalizer Prepend: its text is not a string"),
        ({"normalizer": sequence(*[{"type": "NFC"}] * 9)}, "normalizer: it has more than 8 steps"),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": ""}}, "normalizer: the kind 'Precompiled'"),
        ({"normalizer": {"pattern": {"String": "e"}, "content": "e"}}, "normalizer: the kind 'None' is not supported"),
        ({"pre_tokenizer": ENDLESS}, "pre_tokenizer Split: its pattern is not plain text"),
        ({"pre_tokenizer": sequence(ENDLESS, inner="pretokenizers")}, "pre_tokenizer Split: its pattern"),
        ({"pre_tokenizer": 7}, "pre_tokenizer: the kind 'None' is not supported"),
        ({"model": {"type": "BPE", "vocab": {}, "merges": [], "end_of_word_suffix": "x" * 17}}, "end_of_word_suffix"),
        ({"model": []}, "it has no model"),
        ({"model": {"type": "BPE"}}, r"not a tokenizer \("),
    ],
)
def test_a_tokenizer_that_could_lengthen_texts_excessively_is_refused_in_one_line(
    tiny_checkpoint: Path, tmp_path: Path, parts: dict[str, Any], message: str
) -> None:
    with pytest.raises(CheckpointError, match=message) as caught:
        Tokenizer.from_folder(changed(tiny_checkpoint, tmp_path, **parts), 400)
    assert "tokenizer.json" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("parts", "tokens"),
    [
        ({"normalizer": sequence(LONGER, {"type": "NFKC"})}, 16),
        ({"normalizer": None, "pre_tokenizer": {"type": "Digits", "individual_digits": True}}, 1),
        ({"normalizer": None, "padding": {"strategy": {"Fixed": 10**6}}}, 1),
        ({"normalizer": None, "post_processor": {"type": "Unheard"}, "decoder": {"type": "Unheard"}}, 1),
    ],
)
def test_harmless_parts_are_used_and_irrelevant_ones_removed(
    tiny_checkpoint: Path, tmp_path: Path, parts: dict[str, Any], tokens: int
) -> None:
    assert len(Tokenizer.from_folder(changed(tiny_checkpoint, tmp_path, **parts), 400).encode("e")) == tokens


def test_of_a_duplicate_key_the_checked_value_is_used(tiny_checkpoint: Path, tmp_path: Path) -> None:
    path = changed(tiny_checkpoint, tmp_path) / "tokenizer.json"
    hidden = json.dumps({"normalizer": LONGER | {"content": "e" * 100}})[1:-1]
    path.write_text("{" + hidden + "," + path.read_text(encoding="utf-8")[1:], encoding="utf-8")
    assert len(Tokenizer.from_folder(tmp_path, 400).encode("e")) == 2, "a word mark and the letter"


@pytest.mark.parametrize("content", ["[" * 100_000, "9" * 5_000, "", "\xff"])
def test_invalid_json_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "tokenizer.json").write_text(content, encoding="latin-1")
    with pytest.raises(CheckpointError, match=r"tokenizer\.json: not"):
        Tokenizer.from_folder(tmp_path, 400)


def test_tokens_beyond_the_models_vocabulary_are_refused_at_loading(tiny_checkpoint: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_checkpoint, tmp_path / "model"))
    vocab = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    assert max(vocab.values()) == 399
    data = (folder / "tokenizer.json").read_text(encoding="utf-8").replace('"h": 75', '"h": 400')
    (folder / "tokenizer.json").write_text(data, encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"it has a token 400, but config\.json has vocab_size 400"):
        load_model(folder)


def test_added_tokens_beyond_the_models_vocabulary_are_refused_only_in_a_text(
    tiny_checkpoint: Path, tmp_path: Path
) -> None:
    """transformers adds them after the last id of the vocabulary when it saves a tokenizer."""
    data = json.loads((tiny_checkpoint / "tokenizer.json").read_text(encoding="utf-8"))
    like = data["added_tokens"][0]
    marks = [like | {"id": 400, "content": "<|im_start|>"}, like | {"id": 401, "content": "大学"}]
    folder = changed(tiny_checkpoint, tmp_path, added_tokens=[*data["added_tokens"], *marks])
    plain, saved_again = Tokenizer.from_folder(tiny_checkpoint, 400), Tokenizer.from_folder(folder, 400)
    for text in ("hello world", "你好，世界", "<|im_stop|>"):
        assert saved_again.encode(text) == plain.encode(text)
    assert saved_again.encode("大学")[-2:] == plain.encode("大学")[-2:], "split into characters, which the model knows"
    with pytest.raises(InputError, match=r"the text contains '<\|im_start\|>', a token that this model does not know"):
        saved_again.encode("hello <|im_start|>user")


def test_a_tokenizer_is_refused_before_a_weight_is_read(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(tiny_checkpoint, tmp_path / "model"))
    changed(tiny_checkpoint, folder, pre_tokenizer=ENDLESS)
    monkeypatch.setattr("voxcli.model.weights.open_weights", lambda *_: pytest.fail("weights were opened"))
    with pytest.raises(CheckpointError, match="pre_tokenizer Split"):
        load_model(folder)


def test_a_panic_of_the_library_is_raised_as_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    backend = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0, "b": 1}, []))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex("(a+)+$"), "isolated")
    with pytest.raises(SynthesisError, match="the model's tokenizer failed on this text") as caught:
        Tokenizer(backend).encode("a" * 40 + "b")
    assert "\n" not in str(caught.value)


def test_characters_without_a_token_are_unknown_and_bytes_are_tokens(tiny_checkpoint: Path, tmp_path: Path) -> None:
    """VoxCPM2's tokenizer falls back to bytes; one without that fallback has a single token for unknown characters."""
    model = json.loads((tiny_checkpoint / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    without = Tokenizer.from_folder(changed(tiny_checkpoint, tmp_path, model=model | {"byte_fallback": False}), 400)
    assert without.unknown("héllo 你好 мир!") == "éмир"
    assert without.unknown("hello 你好!") == ""
    assert Tokenizer.from_folder(tiny_checkpoint, 400).unknown("héllo 你好 мир!") == ""
