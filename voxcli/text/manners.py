"""Words that distinguish a description of a voice from prose, in the languages used for descriptions."""

from __future__ import annotations

import re

__all__ = [
    "ACTORS",
    "HAN_NUMBER",
    "IMPERATIVES",
    "LEADS",
    "MANNERS",
    "PARTICIPLES",
    "PERSONS",
    "PERSON_HAN",
    "SMALL",
    "VOICES",
    "VOICE_HAN",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that occur only in descriptions of a voice.
VOICES = _words(
    """
    voice voices voiced tone toned accent accented dialect pitch pitched timbre pace paced tempo speaking whisper
    whispers whispering whispered narrator narration narrating announcer newsreader monotone soprano baritone tenor
    stimme tonfall akzent voix accent voz tono acento voce accento stem sotaque голос голосом тон тоном акцент
    акцентом
    """
)
# Manners of speaking.
MANNERS = VOICES | _words(
    """
    rhythm speech speaks talking talks shouting shouts shouted yelling singing sings murmuring mumbling bass alto
    husky hoarse raspy breathy nasal gravelly resonant rich deep low high slow slowly slower fast faster quick
    quickly rapid rapidly loud loudly louder quiet quietly quieter soft softly softer gentle gently warm warmly calm
    calmly cheerful cheerfully cheery happy happily joyful joyfully sad sadly angry angrily furious excited
    excitedly energetic enthusiastic serious seriously solemn tender friendly formal casual confident nervous
    nervously anxious scared fearful frightened terrified tired sleepy bored sarcastic ironic playful dramatic
    emotional melancholic melancholy mysterious seductive sweet soothing bright clear crisp lively animated
    expressive emphatic hesitant hesitating trembling crying sobbing laughing smiling sighing gasping panting
    pleading urgent urgently surprised shocked disgusted amused annoyed irritated worried disappointed hopeful proud
    shy timid robotic childish childlike grumpy stern relaxed measured hushed muted steady even neutral natural
    professional authoritative clearly

    langsam schnell leise laut ruhig sanft tief hell fröhlich traurig wütend flüsternd freundlich warm warme warmer
    ruhige ruhiger tiefe tiefer lente lentement vite doucement doux douce calme grave joyeux joyeuse triste
    chuchotant chaleureuse lento lenta despacio rápido suave cálida alegre susurrando enojado enojada lentamente
    dolce calda allegra sussurrando devagar calma quente langzaam snel zacht rustig fluisterend медленно быстро тихо
    тихий громко спокойно шёпотом грустно весело тёплый низкий
    """
)
# Speakers.
PERSONS = _words(
    """
    man woman male female boy girl child kid lady gentleman guy baby teenager teen adult grandmother grandma
    grandfather grandpa elder elderly young old aged middle-aged mature youthful mann frau kind mädchen junge homme
    femme garçon fille hombre mujer niño niña uomo donna homem mulher мужчина женщина мужской женский
    """
)
# Words between the others.
SMALL = _words(
    """
    a an and with in of very rather slightly quite somewhat but or as if like while more most extremely year years
    year-old ein eine
    einer einem und mit sehr un une et avec très una y con muy e molto um uma com muito een en met и очень с
    """  # noqa: RUF001
)
# Verbs that begin an instruction: (speak slowly).
IMPERATIVES = _words("speak say read talk whisper shout sing sound narrate use sprich parle habla parla fale")
# Subjects and verbs: a clause has at least one of them, a description has none.
ACTORS = _words(
    """
    i he she it we they you who whom nobody somebody everybody everyone anyone anybody nothing something everything
    there is are am was were has had have do does did will would can could shall should may might must isn wasn said
    went came saw took stood ran sat knew thought made left felt heard told found kept gave got rose fell began wept
    spoke became brought lost met meant put lay lived died never not

    ich er sie es wir ihr ist sind war waren hat hatte hatten wird wurde wurden kann konnte nicht niemand il elle
    ils elles je nous vous tu était étaient est sont avait avaient fut personne él ella ellos ellas era eran estaba
    había habían fue fueron nadie son está lui lei loro sono aveva avevano fu erano nessuno ele ela eles elas foi
    estava havia hij zij ze wij werd hadden waren niemand он она оно они я мы был была было были не никто
    """
)
# Words that begin asides, and rarely descriptions: (for the third time).
LEADS = _words(
    """
    the this that these those his her my your our their its for at on by after before from to of and but or so if
    when while though although because since until not no see about almost then now here where which what how why
    e.g i.e der die das den dem und aber oder von nach vor für zum zur im am siehe le la les et mais ou de du des
    pour par après avant voir el los las y pero o del para por ver
    """
)
# Adjectives that look like verbs in the past tense.
PARTICIPLES = _words(
    """
    excited relaxed tired bored accented measured hushed muted strained composed controlled animated subdued raised
    pitched voiced toned paced spirited rushed seasoned educated refined polished detached annoyed worried
    frightened scared amused irritated concerned surprised shocked disgusted disappointed exhausted depressed
    determined restrained collected clipped terrified whispered aged
    """
)
VOICE_HAN = re.compile(
    "[声聲嗓腔男孩]|女[孩生性人子]|音[色调調量]|[语語][气氣调調速音]|口音|方言|[四川东東北京上海广廣州粤闽南西]{2}[话話]"
    "|老人|低沉|温柔|溫柔|轻柔|缓慢|快速|慢慢|悄悄|激动|悲伤|开心|愤怒|平静|严肃"
    "|ゆっくり|優しい|静か|明るい|목소리|여성|남성|천천히|부드러운|차분한"
)
PERSON_HAN = re.compile("[男孩]|女[孩生性人子声聲]|老人|少年|여성|남성|女の子|男の子")
HAN_NUMBER = re.compile("[一二三四五六七八九十百千]+")
