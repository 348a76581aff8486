"""The languages of texts: BCP 47 primary tags, their English names, and equivalent tags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

__all__ = ["LANGUAGES", "VOXCPM2", "language_name", "language_names", "language_tag", "near_tag"]

# English names, as in CLDR.
LANGUAGES: Mapping[str, str] = MappingProxyType(
    {
        "af": "Afrikaans",
        "am": "Amharic",
        "ar": "Arabic",
        "be": "Belarusian",
        "bg": "Bulgarian",
        "bn": "Bangla",
        "ca": "Catalan",
        "cs": "Czech",
        "da": "Danish",
        "de": "German",
        "el": "Greek",
        "en": "English",
        "es": "Spanish",
        "et": "Estonian",
        "eu": "Basque",
        "fa": "Persian",
        "fi": "Finnish",
        "fr": "French",
        "ga": "Irish",
        "gl": "Galician",
        "gu": "Gujarati",
        "he": "Hebrew",
        "hi": "Hindi",
        "hr": "Croatian",
        "hu": "Hungarian",
        "hy": "Armenian",
        "id": "Indonesian",
        "is": "Icelandic",
        "it": "Italian",
        "ja": "Japanese",
        "ka": "Georgian",
        "kk": "Kazakh",
        "km": "Khmer",
        "kn": "Kannada",
        "ko": "Korean",
        "lo": "Lao",
        "lt": "Lithuanian",
        "lv": "Latvian",
        "mk": "Macedonian",
        "ml": "Malayalam",
        "mn": "Mongolian",
        "mr": "Marathi",
        "ms": "Malay",
        "my": "Burmese",
        "ne": "Nepali",
        "nl": "Dutch",
        "no": "Norwegian",
        "pa": "Punjabi",
        "pl": "Polish",
        "pt": "Portuguese",
        "ro": "Romanian",
        "ru": "Russian",
        "si": "Sinhala",
        "sk": "Slovak",
        "sl": "Slovenian",
        "sq": "Albanian",
        "sr": "Serbian",
        "sv": "Swedish",
        "sw": "Swahili",
        "ta": "Tamil",
        "te": "Telugu",
        "th": "Thai",
        "tl": "Tagalog",
        "tr": "Turkish",
        "uk": "Ukrainian",
        "ur": "Urdu",
        "uz": "Uzbek",
        "vi": "Vietnamese",
        "zh": "Chinese",
        "zu": "Zulu",
    }
)
_SAME = {"cmn": "zh", "fil": "tl", "in": "id", "iw": "he", "nb": "no", "nn": "no", "yue": "zh"}
# What people write instead of a tag: countries, and names in the language itself.
_OFTEN = {
    "ar": ("arab",),
    "cs": ("cz", "\u010de\u0161tina"),
    "da": ("dk", "dansk"),
    "de": ("deutsch", "ger", "deu"),
    "el": ("gr", "\u03b5\u03bb\u03bb\u03b7\u03bd\u03b9\u03ba\u03ac"),
    "en": ("gb", "us", "eng"),
    "es": ("espa\u00f1ol", "espanol", "spa"),
    "fa": ("farsi",),
    "fi": ("suomi",),
    "fr": ("fran\u00e7ais", "francais", "fra", "fre"),
    "he": ("il",),
    "id": ("bahasa",),
    "it": ("italiano", "ita"),
    "ja": ("jp", "jpn", "\u65e5\u672c\u8a9e"),
    "ko": ("kr", "kor", "\ud55c\uad6d\uc5b4"),
    "nl": ("nederlands",),
    "no": ("norsk", "bokm\u00e5l", "nynorsk"),
    "pl": ("polski",),
    "pt": ("portugu\u00eas", "portugues", "br", "por"),
    "ru": ("\u0440\u0443\u0441\u0441\u043a\u0438\u0439", "rus"),
    "sv": ("se", "svenska"),
    "tl": ("filipino",),
    "tr": ("t\u00fcrk\u00e7e", "turkce"),
    "uk": ("ua", "\u0443\u043a\u0440\u0430\u0457\u043d\u0441\u044c\u043a\u0430"),
    "vi": ("vn",),
    "zh": ("cn", "chn", "zho", "mandarin", "cantonese", "\u4e2d\u6587"),
}

# The 30 languages in the model card of openbmb/VoxCPM2; its Chinese dialects count as Chinese.
VOXCPM2 = frozenset(
    {
        "ar", "my", "zh", "da", "nl", "en", "fi", "fr", "de", "el", "he", "hi", "id", "it", "ja",
        "km", "ko", "lo", "ms", "no", "pl", "pt", "ru", "es", "sw", "sv", "tl", "th", "tr", "vi"
    }
)  # fmt: skip


def language_tag(written: str) -> str | None:
    """Return the primary tag in LANGUAGES for a BCP 47 tag; None if there is none.

    >>> language_tag("de"), language_tag("EN_us"), language_tag("nb-NO"), language_tag("German")
    ('de', 'en', 'no', None)
    """
    primary = written.strip().casefold().replace("_", "-").partition("-")[0]
    tag = _SAME.get(primary, primary)
    return tag if tag in LANGUAGES else None


def near_tag(meant: str) -> str | None:
    """Return the tag probably meant by the name of a language or country, perhaps misspelt; None if none is near."""
    from difflib import get_close_matches  # needed only for an error message

    names = {name.casefold(): tag for tag, name in LANGUAGES.items()}
    names |= {name: tag for tag, written in _OFTEN.items() for name in written}
    whole = meant.strip().casefold()[:40]
    for word in (whole, *reversed(whole.split())):  # "Brazilian Portuguese"
        if close := get_close_matches(word, names, n=1, cutoff=0.7):
            return names[close[0]]
    return None


def language_name(tag: str) -> str:
    return LANGUAGES.get(tag, tag)


def language_names(tags: Iterable[str], limit: int = 3) -> str:
    """Return languages in words: "Danish or Norwegian"; their number if there are more than `limit`."""
    names = sorted(map(language_name, tags))
    if len(names) > limit:
        return f"{len(names)} languages"
    return " or ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
