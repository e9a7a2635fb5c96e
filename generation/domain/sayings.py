"""What a check says: a sentence for each outcome, with room for its figures. Rows keep the name of the sentence and the
figures, so that a page can say it in the reader's language.
"""

from __future__ import annotations

from collections.abc import Mapping


def _(english: str) -> str:
    """Marks a sentence for the catalogue of translations."""
    return english


NAMED = frozenset({"expected", "spoken"})
"""Figures that are names of languages: words themselves."""

SAYINGS: dict[str, str] = {
    "decodable": _("The clip decodes whole."),
    "duration": _("The clip lasts %(value)s s."),
    "duration.outside": _("The clip lasts %(value)s s; between %(short)s and %(long)s s are expected."),
    "silence": _("%(share)s of the clip is pause."),
    "silence.pauses": _("%(share)s of the clip is pause; at most %(limit)s may be."),
    "silence.nothing": _("The clip is too quiet to hear: nothing; at least %(limit)s LUFS are expected."),
    "silence.quiet": _("The clip is too quiet to hear: %(value)s LUFS; at least %(limit)s LUFS are expected."),
    "clipping": _("%(share)s of the samples are cut off at full scale."),
    "clipping.much": _("%(share)s of the samples are cut off at full scale; at most %(limit)s may be."),
    "tail": _("The clip fades out before its end."),
    "tail.cut": _(
        "The clip ends in sound, %(value)s dB below its loudest part (%(limit)s are expected): its last word may be cut off."
    ),
    "language": _("The line is in %(expected)s."),
    "language.script": _("%(share)s of the line is not written in %(expected)s, the language of the dialogue."),
    "language.spoken": _("The clip is spoken in %(spoken)s; the dialogue is in %(expected)s."),
    "transcript.missing": _("There is no transcript. Listen to it, then decide."),
    "transcript.empty.words": _("The line holds no words to listen for."),
    "transcript.empty.characters": _("The line holds no characters to listen for."),
    "transcript.silent": _("Nobody was heard speaking (%(name)s 100%%, at most %(limit)s)."),
    "transcript.words": _("%(error)s of the words were heard otherwise (WER, at most %(limit)s)."),
    "transcript.characters": _("%(error)s of the characters were heard otherwise (CER, at most %(limit)s)."),
    "transcript.words.alike": _(
        "%(error)s of the words were heard otherwise (WER, at most %(limit)s). It sounds alike, within what this transcriber "
        "is known to mistake."
    ),
    "transcript.characters.alike": _(
        "%(error)s of the characters were heard otherwise (CER, at most %(limit)s). It sounds alike, within what this "
        "transcriber is known to mistake."
    ),
    "transcript.words.weak": _(
        "%(error)s of the words were heard otherwise (WER, at most %(limit)s). The transcriber itself mistakes about %(own)s "
        "of the words of good speech: listen before you decide, or give the batch another threshold."
    ),
    "transcript.characters.weak": _(
        "%(error)s of the characters were heard otherwise (CER, at most %(limit)s). The transcriber itself mistakes about "
        "%(own)s of the characters of good speech: listen before you decide, or give the batch another threshold."
    ),
    "voice": _("The clip sounds like the other clips of its speaker (%(value)s, at most %(limit)s)."),
    "voice.alike": _("%(speaker)s and %(nearest)s sound too alike for a swap to be heard."),
    "voice.swapped": _(
        "The clip sounds less like %(speaker)s, who should speak it, than like %(nearest)s (%(value)s times as far away, "
        "at most %(limit)s): the voices may be swapped."
    ),
    "distinct": _("The two deliveries differ clearly (D = %(value)s)."),
    "distinct.little": _(
        "The two deliveries differ a little (D = %(value)s, doubtful below %(limit)s); listen to them."
    ),
    "distinct.hardly": _("The two deliveries hardly differ (D = %(value)s, at least %(limit)s)."),
    "loudness": _("As they were made, the two deliveries lie %(apart)s LU apart in loudness (at most %(limit)s)."),
    "loudness.asked": _(
        "As they were made, the two deliveries lie %(apart)s LU apart in loudness; %(wanted)s were asked for (at most "
        "%(limit)s off)."
    ),
    "loudness.none": _("One of the two deliveries has no loudness to compare."),
    "matched": _("As people hear them, the deliveries lie %(value)s LU apart (at most %(limit)s)."),
    "text.open": _(
        "The words of the critical lines leave the delivery open: %(right)s of %(asked)s guesses were right."
    ),
    "text.away": _(
        "The words of the critical lines give the delivery away: %(right)s of %(asked)s guesses were right."
    ),
    "text.part": _("The judge that reads only the words did not answer for every line."),
    "text.none": _("The judge that reads only the words gave no verdict. %(why)s"),
}

IN_LINE = _("Line %(line)s: %(said)s")
IN_PAIR = _("Line %(line)s, %(first)s and %(second)s: %(said)s")
"""Which line of the dialogue is meant, where a finding is about the dialogue as a whole."""


def say(code: str, figures: Mapping[str, str]) -> str:
    """The sentence in English."""
    return SAYINGS[code] % figures


def say_where(said: str, where: Mapping[str, str]) -> str:
    """With the line, or the pair of a line, that it is about, in English."""
    pattern = IN_PAIR if "first" in where else IN_LINE if where else "%(said)s"
    return pattern % {**where, "said": said}
