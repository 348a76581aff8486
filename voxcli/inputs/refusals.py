"""Kinds of text that are refused, each with the way to something that can be read. Binary kinds: see `signatures`."""

from __future__ import annotations

from voxcli.inputs.signatures import Refusal

_CONVERT = "convert it: `pandoc FILE -t plain --wrap=none -o FILE.txt`"
_SAVE_TEXT = "save its text as .txt"
_EXPORT_TABLE = "export it as .csv or .tsv"

HTML = Refusal(
    "an HTML page", "save its text as .txt or .md, or `pandoc FILE -f html -t plain --wrap=none -o FILE.txt`"
)
XML = Refusal("an XML document", "save its text as .txt or .md")
LATEX = Refusal("a LaTeX document", _CONVERT)
MARKUP = Refusal("a document with markup", _CONVERT)
SUBTITLES = Refusal("subtitles of another kind than .srt and .vtt", "convert them to .srt")
SCREENPLAY = Refusal("a screenplay", "make a table of its speeches, with columns voice and text")
GAME = Refusal("the script of a game", "export its dialogue as a table with a column text")

MAIL = Refusal("an e-mail message", _SAVE_TEXT)
CARDS = Refusal("a file of contacts or dates", _SAVE_TEXT)
TIMES = Refusal(
    "a chat, a log or a transcript, with times in its lines", "remove the times and names, or make it a table"
)
LOG = Refusal("a log", "only text can be spoken")

UTTERANCES = Refusal(
    "a list with an utterance id at the start of each line, as Kaldi has them",
    "put a bar behind each id, `sed 's/[[:space:]]/|/' FILE > FILE.txt`",
)
NAMES = Refusal("a list of files or addresses", "give the text itself, or the name of one file")
COLUMNS = Refusal("a table whose columns are made with spaces", _EXPORT_TABLE)
DRAWN = Refusal("a table drawn with characters", _EXPORT_TABLE)
NO_TEXT_COLUMN = Refusal(
    "a table without a column 'text'", "name the one to speak with --map text=COLUMN, and all of them in its first line"
)
FLASHCARDS = Refusal("an export of flashcards", "replace the lines that begin with # by a line with names of columns")

SETTINGS = Refusal("a settings file", "use JSON Lines or a table")
TRANSLATIONS = Refusal("a file of translations", "export its texts as .csv")
PROGRAM = Refusal("program code", _SAVE_TEXT)
STATEMENTS = Refusal("a database script", "export the table as .csv or .jsonl")
ENCODED = Refusal("encoded data", "decode it first")
GARBLED = Refusal(
    "text that was read in a wrong encoding before it was saved (such as Ã¼ for ü)",
    "save it again as UTF-8 where it comes from",
)
