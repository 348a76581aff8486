"""Mail, tables, lists and texts read in a wrong encoding are refused by name; prose may have single signs of them."""

from __future__ import annotations

import pytest

from tests.inputs.test_detect import kind

MAIL = "From: anna@example.com\nTo: bob@example.com\n  (Bob)\nSubject: Tomorrow\n\nSee you =E2=80=93 at nine.\n"
UTTERANCES = "a list with an utterance id at the start of each line, as Kaldi has them"
GARBLED = "text that was read in a wrong encoding before it was saved"


@pytest.mark.parametrize("suffix", ["", ".txt", ".log"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MAIL, "an e-mail message"),
        ("From anna@example.com Mon Jan  1 10:00:00 2024\n" + MAIL, "an e-mail message"),
        ("Received: from a\n\tby b\nMIME-Version: 1.0\n\nHello.\n", "an e-mail message"),
        ("Von: Anna\nGesendet: Montag\nAn: Bob\nBetreff: Morgen\n\nBis dann.\n", "an e-mail message"),
        ("De: Anna\n\u00c0: Bob\nObjet: Demain\n\n\u00c0 demain.\n", "an e-mail message"),
        ("From: Anna\n\nI am well. To: be sure.\n", "text"),
        ("BEGIN:VCARD\nFN:Anna\nEND:VCARD\n", "a file of contacts or dates"),
        ("| id | text |\n|----|------|\n| a | Hello. |\n", "a table drawn"),
        ("+----+--------+\n| id | text   |\n+----+--------+\n|  1 | Hello. |\n+----+--------+\n", "a table drawn"),
        (" id |  text  \n----+--------\n  1 | Hello.\n", "a table drawn"),
        ("---\nHello.\n--\n- - -\n", "text"),
        ("id   text\n1    Hello there.\n2    Good night.\n", "a table whose columns"),
        ("Anna   queen    Hello there.\nBen    king     Good night.\nCarl   fool     No.\n", "a table whose columns"),
        ("He came.   She left.\nIt rains.  Nobody is here.\nIt stops.  They sing.\n", "text"),
        ("Anna\tHello there.\nBob\tGood night.\n", "a table without"),
        ("0.000\t3.000\tHello there.\n3.000\t5.000\tGood night.\n", "a table without"),
        ("Character,Line,Notes\nAnna,Hello.,\nBob,Bye.,loud\n", "a table without"),
        ("1;Hello there.\n2;Good night.\n", "a table without"),
        ("#separator:tab\n#html:true\nhello\tHallo\nbye\tTsch\u00fcs\n", "an export of flashcards"),
        ("Hello,world\n", "text"),
        ("One\ttwo\nthree\n", "text"),
        ("utt001 HELLO THERE\nutt002 GOOD NIGHT\n", UTTERANCES),
        ("103-1240-0000 CHAPTER ONE\n103-1240-0001 THAT HAD ITS SOURCE\n1034-121119-0000 SO\n", UTTERANCES),
        ("BAC009S0002W0122 \u800c\u5bf9\nBAC009S0002W0123 \u4e5f\u6210\n", UTTERANCES),
        ("anna_0001 hello there\nbob_0001 good night\n", UTTERANCES),
        ("utt001 1 0.00 0.30 hello\nutt002 1 0.30 0.50 there\n", UTTERANCES),
        ("a.wav\nb.wav\nc.wav\n", "a list of files or addresses"),
        ("https://example.com/a\nhttps://example.com/b\n", "a list of files or addresses"),
        ("Grüße aus Köln.\n".encode().decode("cp1252"), GARBLED),
        ("It\u2019s late.\nDon\u2019t go.\n".encode().decode("cp1252"), GARBLED),
        ("Привет, мир.\n".encode().decode("cp1251"), GARBLED),
    ],
)
def test_what_looks_like_something_else_in_its_lines(suffix: str, text: str, expected: str) -> None:
    assert kind(text, suffix).startswith(expected)
