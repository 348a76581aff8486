"""Settings, translations, code and encoded data are refused by name, also without a name of a file."""

from __future__ import annotations

import base64

import pytest

from tests.inputs.test_detect import kind

SETTINGS = "a settings file"
CODE = "program code"
BASE64 = base64.encodebytes(b"The sun is rising over the hills, 1234.\n" * 9).decode()


@pytest.mark.parametrize("suffix", ["", ".txt"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("text: Hello there.\nvoice: anna\n", SETTINGS),
        ("- text: Hello.\n- text: Bye.\n", SETTINGS),
        ("- name: anna\n  says: Hello.\n- name: bob\n  says: Bye.\n", SETTINGS),
        ("# made by hand\nlines:\n  - Hello there.\n  - Good night.\ncount: 2\n", SETTINGS),
        ("version: '3'\nservices:\n  web:\n    image: nginx\n", SETTINGS),
        ("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n", SETTINGS),
        ("greeting: |\n  Hello there.\n  Good night.\nfarewell: bye\n", SETTINGS),
        ("hello: 1\nbye: 2\n", SETTINGS),
        ("en:\n  hello: Hello there.\n  bye: Good night.\n", SETTINGS),
        ("Server:\n  Port: 8080\n  Host: localhost\n", SETTINGS),
        ("---\nTitle: My Book\nAuthor: Anna\n", SETTINGS),
        ("Anna: Hello there.\nBen: Good night.\n", "text"),
        ("Flour: 500\nSugar: 200\n", "text"),
        ("greeting=Hello there.\nbye=Good night.\n", SETTINGS),
        ("# English\nmenu.open = Open\nmenu.close = Close\n", SETTINGS),
        ("[dialog]\nline1=Hello there.\n", SETTINGS),
        ('title = "A story"\nauthor = "Anna"\n', SETTINGS),
        ("export A_KEY=1\nexport B_KEY=two\n", SETTINGS),
        ('  "hello": "Hello there.",\n  "bye": "Good night."\n', SETTINGS),
        ('/* a */\n"hello" = "Hello there.";\n"bye" = "Good night.";\n', "a file of translations"),
        ("import sys\nprint('Hello there.')\n", CODE),
        ("def hello():\n    print('Hello there.')\n\n\nhello()\n", CODE),
        ('#include <stdio.h>\nint main() {\n  puts("Hello.");\n}\n', CODE),
        ("function hello() {\n  return 'Hello.';\n}\n", CODE),
        ("const a = 'Hello.';\nconsole.log(a);\n", CODE),
        ("public class A {\n  void hello() {\n    say();\n  }\n}\n", CODE),
        ("body {\n  color: red;\n}\n", CODE),
        ('for (i = 0; i < 3; i++) {\n  print("a,b,c");\n}\n', CODE),
        ("echo 'Hello.'\ncd texts && ls\necho \"Bye.\"\n", CODE),
        ("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-Hello.\n+Bye.\n", CODE),
        ("-- | The function says hello.\nhello :: Int -> Int\nhello x = x + 1\n", CODE),
        ("-- Hello there, said Anna.\n-- Good night.\n", "text"),
        ('console.log("Hello.");', CODE),
        ("print('Hello.')", CODE),
        ("import numpy as np", CODE),
        ("def f(x): return x + 1", CODE),
        ("int main() { return 0; }", CODE),
        ("Import the goods (all of them).", "text"),
        ("class dismissed: go home", "text"),
        ("if (he) comes;", "text"),
        ("while (he waited) she sang {softly}", "text"),
        ("static noise (loud)", "text"),
        (BASE64, "encoded data"),
        ("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", "encoded data"),
        ("00000000: 4865 6c6c 6f20 7468 6572  Hello ther\n0000000a: 652e 0a48 6921 2121  e..Hi!!!\n", "encoded data"),
        ("See you =E2=80=93 at nine. Or not =E2=80=93 at ten.\n", "encoded data"),
        ("Gr\\u00fc\\u00dfe aus Wien.\n", "encoded data"),
        ("a" * 5000 + "\n", "text"),
        ("Pi is 3.14159 in\nmy book = yours.\n", "text"),
        ("note: it rains\nnote: it snows\n", "text"),
    ],
)
def test_texts_for_programs(suffix: str, text: str, expected: str) -> None:
    assert kind(text, suffix) == expected
