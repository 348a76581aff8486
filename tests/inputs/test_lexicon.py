from __future__ import annotations

from pathlib import Path

import pytest

from voxcli.errors import InputError
from voxcli.inputs.lexicon import read_lexicon

TEXT = "Siobhan said NO to nginx at 1.10"


def lexicon(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", "Siobhan\tShivawn\nNO\tno way\nnginx\tengine x\n1.10\tone ten\n"),
        (
            "a.txt",
            "# names\r\n\r\nWord\tSaid\r\nSiobhan\t Shivawn \r\nNO\tno way\t\r\nnginx\tengine x\r\n1.10\tone ten",
        ),
        ("excel.txt", "word\tsaid\nSiobhan\tShivawn\nNO\tno way\nnginx\tengine x\n1.10\tone ten\n".encode("utf-16")),
        ("a.yaml", "# names\nSiobhan: Shivawn\nNO: no way\nnginx: 'engine x'\n1.10: one ten\n"),
        ("a.json", '{"Siobhan": "Shivawn", "NO": "no way", "nginx": "engine x", "1.10": "one ten"}'),
        ("noname", "Siobhan: Shivawn\nNO: no way\nnginx: engine x\n1.10: one ten\n"),
    ],
)
def test_a_table_and_yaml_say_the_same(tmp_path: Path, name: str, content: str | bytes) -> None:
    assert (
        read_lexicon(lexicon(tmp_path / name, content)).apply(TEXT).text == "Shivawn said no way to engine x at one ten"
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", "a\tb\nc d\n", "lexicon a.tsv, line 2: no tab between the word and its pronunciation: 'c d'"),
        (
            "a.tsv",
            "a\tb\n\nc\td\te\n",
            "lexicon a.tsv, line 3: 3 cells; a lexicon has two, the word and its pronunciation",
        ),
        ("a.tsv", "a\t\n", "lexicon a.tsv, line 1: the spoken form of 'a' is missing"),
        ("a.tsv", "a\tb\na\tc\n", "lexicon a.tsv, line 2: 'a' has two spoken forms: 'b' and 'c'"),
        ("a.tsv", "\n# only a comment\n", "the lexicon a.tsv has no entries"),
        (
            "a.yaml",
            "a: b\nc: [d]\n",
            "lexicon a.yaml, line 2: 'c': only lines `word: pronunciation` are allowed",
        ),
        (
            "a.yaml",
            "- a\n- b\n",
            "lexicon a.yaml, line 1: the file: only lines `word: pronunciation` are allowed",
        ),
        (
            "a.yaml",
            "a: &x b\nc: *x\n",
            "lexicon a.yaml, line 2: 'c': only lines `word: pronunciation` are allowed",
        ),
        ("a.yaml", "a: b\nc:\n", "lexicon a.yaml, line 2: the spoken form of 'c' is missing"),
        ("a.yaml", "a: b\n  c: d\n", "lexicon a.yaml, line 2: "),
        ("a.yaml", "a: b\n---\nc: d\n", "lexicon a.yaml, line 2: a second document"),
        ("missing.tsv", None, "can't read the lexicon missing.tsv: No such file or directory"),
        (".", None, "can't read the lexicon .: Is a directory"),
        ("a.tsv", b"\x00\x01\x02" * 400, "the lexicon a.tsv is no text: it is a table with tabs, or YAML"),
    ],
)
def test_what_is_wrong_is_told_in_one_line_with_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str | bytes | None, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(name) if content is None else lexicon(Path(name), content)
    with pytest.raises(InputError) as caught:
        read_lexicon(path)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", ["tsv", "yaml"])
def test_a_lexicon_of_a_hundred_thousand_entries_is_read(tmp_path: Path, suffix: str) -> None:
    between = "\t" if suffix == "tsv" else ": "
    content = "".join(f"name{number}{between}spoken {number}\n" for number in range(100_000))
    assert len(read_lexicon(lexicon(tmp_path / f"a.{suffix}", content))) == 100_000
