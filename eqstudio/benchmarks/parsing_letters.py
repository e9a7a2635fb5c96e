"""Which option a text names: by letter, number, ordinal or its own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from eqstudio.benchmarks.parsing_text import Reading, blank_matches, is_supposed
from eqstudio.benchmarks.trials import Option

_NOUN = r"(?:option|choice|response|reply|rendition|version|clip|audio|candidate|answer|recording|选项|选择|方案|回答|回应|版本|音频|录音)"
_OPEN = r"[\s*_`\"'(\[{$\\<「『“《]*+(?:boxed\{|text\{|mathrm\{|textbf\{)?+[\s*_`\"'(\[{]*+"
_ORDINALS = (
    r"first|1st|第一",
    r"second|2nd|第二",
    r"third|3rd|第三",
    r"fourth|4th|第四",
    r"fifth|5th|第五",
    r"sixth|6th|第六",
    r"seventh|7th|第七",
    r"eighth|8th|第八",
    r"ninth|9th|第九",
    r"tenth|10th|第十",
)
_STRONG = re.compile(
    r"\b(?:final\s+)?answer(?:\s+(?:is|would\s+be|should\s+be))?\s*[*_`]*\s*[:=>-]?"
    r"|(?<![回应对作问])答\s*[:]|(?:最终)?(?:正确)?答案(?:应该?)?(?:是|为|选)?\s*[:]?|\b(?:my\s+)?(?:final\s+)?choice\s*(?:is|[:=])"
    r"|\b(?:selected|selection|chosen\s+option|selected\s+option)\s*(?:is|[:=])"
    r"|(?:我)?(?:应该?|会|要)?选(?:择|(?!项))(?:的是|了)?(?:是|为)?\s*[:]?|选项\s*(?:是|为|[:])\s*[:]?",
    re.IGNORECASE,
)
_BOXED = re.compile(r"\\boxed\s*\{([^{}]*(?:\{[^{}]*\}[^{}]*)?)\}")
_PRAISE = (
    r"(?:better|best|right|correct|preferable|superior|(?:more|most)\s+(?:emotionally\s+)?(?:empath\w+|appropriate\w*|suitable|"
    r"supportive|warm\w*|caring|natural\w*|fitting|convincing|effective|compassionate|understanding|genuine|attuned|"
    r"intelligent|helpful|considerate|sincere|engaging|comforting|gentle|enthusiastic)|warmer|kinder|gentler)"
)
_STATEMENT = re.compile(
    rf"\b{_PRAISE}(?:\s+{_NOUN}|\s+one)?\s*(?:is|would\s+be|[:=])"
    r"|\b(?:choose|chose|pick|picked|select|prefer|go\s+with|going\s+with|opt\s+for|vote\s+for|favou?r)\b"
    r"|\b(?:it|that)(?:\s+is|'s)\b|\bi(?:'d|\s+would)\s+say\b|\b(?:therefore|thus|hence|so)\s*[,:]|更(?:好|合适|恰当|温和|有同理心)的(?:回应|回答|选项|一个)?是",
    re.IGNORECASE,
)
_AFTER_PRAISE = re.compile(
    rf"\s*+[*_`\"')\]}}]*+\s*+(?:(?:is|sounds|seems|feels|would\s+be)\s+(?:clearly\s+|much\s+|the\s+|far\s+|a\s+)*{_PRAISE}\b(?!\s+(?:of\s+)?(?:both|than\s+neither))"
    rf"|is\s+my\s+(?:final\s+)?(?:choice|pick|answer|selection)\b|(?:更|最)(?:好|合适|恰当|温和|温暖|有同理心|自然|贴切|体贴))",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"\b(?:not|isn't|wasn't|aren't|never|neither|nor|worse|worst|less|least|wrong|incorrect|dismissive|cold\w*|flat\w*|"
    r"monoton\w+|harsh\w*|rude\w*|sarcastic\w*|robotic|inappropriate|hostile|angr\w+|annoyed|unsure|unclear|avoid\w*|"
    r"reject\w*|can't|cannot|don't|doesn't|both|either|equally|if|whether)\b|不|没|更差|最差|冷淡|敷衍|都",
    re.IGNORECASE,
)
_FOR = re.compile(
    rf"\b{_PRAISE}\b|\b(?:more|most|choose|pick|select|prefer|go with|answer|choice)\b|更|最|选|答案|应该",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"(?:\b(?:if|whether|unless|suppose|supposing|had)\b|(?:\bnot|n't|\bnever|\bcannot)\b(?!.*\bbut\b)|如果|是否|不(?!过)|并非)[^.,;!?。，；！？\n]{0,60}$",
    re.IGNORECASE,
)
_WRONG = (
    r"(?:wrong|incorrect|worse|worst|less|least|bad|poor(?:er)?|unfit|unsuitable|inappropriate|inferior|dissonant|dismissive|"
    r"cold(?:er|est)?|harsh(?:er|est)?)"
)
_CUE_AGAINST = re.compile(
    rf"\b{_WRONG}\s+(?:[a-z]+\s+){{0,2}}$|\b(?:some|others?|many|most|few)(?:\s+[a-z]+){{0,2}}\s+$|\b(?:avoid|reject|hesitat)\w*\s[^.,;!?\n]{{0,20}}$"
    r"|\b(?:one|you|they|people|listeners?|users?|he|she)\s+(?:would|could|might|may|can)\s+$|\b(?:might|may|could)\s+say\s+(?:that\s+)?(?:the\s+)?$"
    r"|(?:错误?|最差|更差)的?$|(?:别|勿|避免|拒绝|难以|很难|有人会?|有些人会?)[^.,;!?\n]{0,3}$",
    re.IGNORECASE,
)
"""What stands before a cue that names what is not the answer, or what others would say."""
_MENTION_AGAINST = re.compile(
    rf"[*_`\"')\]}}]*\s*(?:(?:is|was|would\s+be|seems|sounds|feels)\s+(?:[a-z]+\s+){{0,2}}{_WRONG}\b|(?:is|was|would)(?:n't|\s+not)\b"
    r"|(?:的[^.,;!?\n]{1,6})?(?:并?不(?!仅|但|光|只)|太|是错|有误|很?冷淡|更差))",
    re.IGNORECASE,
)
"""What stands after an option that is no answer: ``B would be wrong``, ``A不合适``."""
_AHEAD_OF = re.compile(
    rf"(?:的[^.,;!?\n不没比]{{1,8}})?\s*(?:要|明显|显然|确实)?比\s*{_NOUN}?\s*[A-J1-9][^.,;!?\n不没]{{0,8}}?更(?:好|合适|恰当|温和|温暖|有同理心|自然|贴切|体贴)"
    r"(?![^,;!?。\n]{0,3}(?:吗|[?]))"
)
"""``A比B更好``: the option on the left is meant."""
_BEHIND = re.compile(r"(?:比|与|和|跟|较)[^.,;!?\n]{0,10}$")
_CLAUSE_END = re.compile(r"[^.,;!?。，；！？\n]*([.,;!?。，；！？\n]|$)")


_DENIED = (
    r"(?:(?:\bnot|n't|\bnever|\bhardly|\bbarely|\bscarcely|\banything\s+but|\bfar\s+from|\bno\s+longer|\bneither|\bnor)"
    r"(?:\s+(?:a|an|the|really|quite|entirely|fully|completely|wholly|totally|exactly|always|very|so|too|particularly|truly)\b){0,2}"
    r"|(?:不是|并非|没有?|未|非|不)(?:太|大|够|很|算|完全|怎么|十分|那么)?)\s*[\"'*(]*"
)
"""What denies the words of an option that follow it."""


class Mention(NamedTuple):
    letter: str
    start: int
    end: int


def letter_read(text: str, options: Sequence[Option]) -> Reading:
    """Walk the levels; the first level on which anything was named decides."""
    if not options or not text.strip():
        return Reading()
    reader = _Reader(text, options)
    for rule, level in (
        ("line", reader.explicit_line),
        ("boxed", reader.boxed),
        ("token", reader.bare_lines),
        ("statement", reader.statements),
        ("text", reader.option_texts),
        ("ordinal", reader.ordinals),
    ):
        found = level()
        if found is None:
            return Reading(rule=rule, seen=True)
        letters = {mention.letter for mention in found}
        if len(letters) > 1:
            return Reading(rule=rule, seen=True)
        if letters:
            last = found[-1]
            return Reading(value=last.letter, rule=rule, span=(last.start, last.end), seen=True)
    return Reading()


class _Reader:
    """One text against one set of options. Every level returns its mentions, or None for an open contradiction."""

    def __init__(self, text: str, options: Sequence[Option]) -> None:
        self.letters = [option.letter for option in options]
        self.texts = _distinct_texts(options)
        letters = "".join(self.letters)
        self.any_letter = f"[{re.escape(letters + letters.lower())}]"
        self.capital = f"[{re.escape(letters)}]"
        negation = (
            rf"(?:\bnot|n't|\bnever|\bneither|\bnor|\brather\s+than|\binstead\s+of|\bover|\bunlike|\bthan|而不是|不是|并非|不选|不应选|而非|胜过|好过)"
            rf"(?:\s+be)?{_OPEN}(?:the\s+)?(?:{_NOUN}\s*)?[*_`\"'(]*"
            rf"(?:{self.capital}(?![A-Za-z0-9'])|[1-9](?!\d)|(?:(?:{'|'.join(_ORDINALS)})(?:\s+(?:one|{_NOUN})|个|种|段)?))"
        )
        texts = "|".join(self._words(words) for words in sorted(self.texts, key=len, reverse=True))
        self.text = blank_matches(re.compile(negation, re.IGNORECASE), text)
        if texts:
            self.text = blank_matches(
                re.compile(rf"(\S)[不没]\1|(?!{texts}){_DENIED}(?:{texts})", re.IGNORECASE), self.text
            )
        self.whole_token = re.compile(
            rf"[\s*_`\"'(\[{{$\\<#>-]*(?:the\s+)?(?:(?:final\s+)?answer\s*(?:is)?\s*:?\s*)?(?:(?:{_NOUN})\s*)?[\s*_`\"'(\[{{]*"
            rf"(?:({self.any_letter})|([1-9]\d?))(?:\s*(?:选项|option))?[\s*_`\"')\]}}$>.,:;!。,、]*",
            re.IGNORECASE,
        )
        self.lead = re.compile(
            rf"(?<![A-Za-z0-9])[\s*_`\"'(\[]*({self.capital})[*_`\"')\]]*[.):、,](?=\s|\*|$|[^\x00-\x7f])"
        )

    def explicit_line(self) -> list[Mention] | None:
        """The last line on which an answer is announced."""
        for start, line in reversed(list(_lines(self.text))):
            found = self._announced(line, start, _STRONG)
            if found is None or found:
                return found
        return []

    def boxed(self) -> list[Mention] | None:
        found = []
        for match in _BOXED.finditer(self.text):
            inner = re.sub(r"\\?(?:text|mathrm|textbf|mathbf)\s*", "", match.group(1))
            named = re.fullmatch(rf"\{{?\s*({self.capital})\s*:[^{{}}]*\}}?", inner)  # C: the words of option C
            letter = named.group(1) if named else self._whole(inner)
            if letter is None:
                return None
            found.append(Mention(letter, match.start(1), match.end(1)))
        return found[-1:]

    def bare_lines(self) -> list[Mention]:
        """Lines that are nothing but an answer, or that begin with ``B.`` or ``B)``."""
        whole = self._whole(self.text)
        if whole is not None:
            stripped = self.text.strip()
            start = self.text.index(stripped)
            return [Mention(whole, start, start + len(stripped))]
        found = []
        for start, line in _lines(self.text):
            letter = self._whole(line)
            if letter is not None and line.strip():
                found.append(Mention(letter, start, start + len(line)))
                continue
            if self.lead.match(line):
                found.extend(
                    Mention(lead.group(1), start + lead.start(1), start + lead.end(1))
                    for lead in self.lead.finditer(line)
                )
        return found

    def statements(self) -> list[Mention] | None:
        """``the better response is B``, ``I prefer option 2``, ``B sounds better``."""
        found = self._announced(self.text, 0, _STATEMENT)
        if found is None:
            return None
        named = re.compile(
            rf"(?<![A-Za-z0-9])(?:{_NOUN}\s*(?:({self.capital})|([1-9]))|({self.capital}))(?![A-Za-z0-9'])",
            re.IGNORECASE,
        )
        for match in named.finditer(self.text):
            letter = self._letter(match.group(1) or match.group(2) or match.group(3))
            alone = match.group(3)
            if letter is None or (alone and not alone.isupper()):
                continue
            ahead = _AHEAD_OF.match(self.text, match.end())
            if ahead:
                found.append(Mention(letter, match.start(), match.end()))
            praised = _AFTER_PRAISE.match(self.text, match.end())
            behind = _BEHIND.search(self.text, max(0, match.start() - 20), match.start())
            if praised and not behind and not self._in_doubt(self.text, match.start(), praised.end()):
                found.append(Mention(letter, match.start(), match.end()))
        return found

    def option_texts(self) -> list[Mention]:
        """The only option whose own words occur."""
        found: list[Mention] = []
        rest = self.text
        for words in sorted(self.texts, key=len, reverse=True):
            pattern = re.compile(rf"(?<![A-Za-z0-9]){self._words(words)}", re.IGNORECASE)
            found.extend(Mention(self.texts[words], match.start(), match.end()) for match in pattern.finditer(rest))
            rest = blank_matches(pattern, rest)
        return found

    def ordinals(self) -> list[Mention] | None:
        """``the second one``, ``第二个``, ``option 2``: the only one that is named, and named with favour."""
        found: list[Mention] = []
        for number, words in enumerate(_ORDINALS[: len(self.letters)], start=1):
            pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{words}|{_NOUN}\s*{number}(?!\d))(?![A-Za-z0-9])", re.IGNORECASE)
            found.extend(
                Mention(self.letters[number - 1], match.start(), match.end()) for match in pattern.finditer(self.text)
            )
        if len({mention.letter for mention in found}) != 1:
            return None if found else []
        bare = re.sub(rf"(?:the|one|个|{_NOUN}|[\s.。!*\"'])+", "", self.text, flags=re.IGNORECASE)
        if re.fullmatch(rf"(?:{'|'.join(_ORDINALS)}|\d)", bare, re.IGNORECASE):
            return found
        if _AGAINST.search(self.text) or not _FOR.search(self.text):
            return None
        return found

    def _announced(self, text: str, offset: int, cue: re.Pattern[str]) -> list[Mention] | None:
        """Options named right after a cue. None when a cue names two at once."""
        found = []
        for match in cue.finditer(text):
            mention = self._token_at(text, match)
            if mention is None or self._in_doubt(text, match.start(), mention.end):
                continue
            if self._another_follows(text, mention.end):
                return None
            found.append(Mention(mention.letter, offset + mention.start, offset + mention.end))
        return found

    def _token_at(self, text: str, cue: re.Match[str]) -> Mention | None:
        opened = re.compile(
            rf"{_OPEN}(?:(?:definitely|clearly|obviously|certainly|surely|simply|indeed)\s+)?(?:(?:the|a|an)\s+(?={_NOUN}))?(?:(?:{_NOUN})\s*(?:is|:)?)?{_OPEN}",
            re.IGNORECASE,
        ).match(text, cue.end())
        start = opened.end() if opened else cue.end()
        token = re.compile(rf"({self.any_letter})(?![A-Za-z0-9'])").match(text, start)
        if token and self._counts(text, token, strong=cue.re is _STRONG):
            return Mention(token.group(1).upper(), token.start(1), token.end(1))
        number = re.compile(r"([1-9])(?![\d.,]\d|\d|[%/])").match(text, start)
        named = opened is not None and re.search(_NOUN, opened.group(), re.IGNORECASE)
        if number and (named or cue.re is _STRONG) and not self.texts:
            letter = self._letter(number.group(1))
            return Mention(letter, number.start(), number.end()) if letter else None
        for words, letter in sorted(self.texts.items(), key=lambda pair: -len(pair[0])):
            exact = re.compile(self._words(words), re.IGNORECASE).match(text, start)
            if exact:
                return Mention(letter, exact.start(), exact.end())
        return self._ordinal_at(text, cue.end())

    def _ordinal_at(self, text: str, start: int) -> Mention | None:
        for number, words in enumerate(_ORDINALS[: len(self.letters)], start=1):
            match = re.compile(
                rf"{_OPEN}(?:the\s+)?({words})(?![A-Za-z0-9])\s*(?:one|个|种|段|{_NOUN})?", re.IGNORECASE
            ).match(text, start)
            if match:
                return Mention(self.letters[number - 1], match.start(1), match.end())
        return None

    def _counts(self, text: str, token: re.Match[str], *, strong: bool) -> bool:
        """A letter that is also a word (A, I, and any small letter) counts only where no word goes on after it."""
        after = text[token.end() :]
        if token.group(1).islower():
            return strong and re.match(r"[\s*_`\"')\]}$.。!]*(?:\n|$)", after) is not None
        if token.group(1) not in "AI":
            return True
        joined = r"or|and|because|since|as|with|over|due|for|is|sounds"
        goes_on = re.match(rf"\s+(?!(?:{joined})\b)[a-z]", after)
        shouted = re.match(
            rf"[ \t]+(?!(?:{joined}|the|this|that|it|its|she|he|they|we|my|but)\b)[A-Z][A-Za-z']+(?!\s*:)\b",
            after,
            re.IGNORECASE,
        )
        return goes_on is None and shouted is None

    @staticmethod
    def _words(words: str) -> str:
        """The pattern of an option's words. A ``no`` before a noun (no idea, no way) denies that and is no answer."""
        noun = r"(?!\s+(?!it\b|he\b|she\b|they\b|there\b|this\b|that\b|the\b|because\b|since\b|as\b)[A-Za-z])"
        return rf"{re.escape(words)}(?![A-Za-z0-9]){noun if words.casefold() == 'no' else ''}"

    def _another_follows(self, text: str, end: int) -> bool:
        joined = rf"[\s*_`\"')\]}}$]*(?:\b(?:or|and)\b|[/&+|]|或者?|和|与|及|还是)\s*{_OPEN}(?:{_NOUN}\s*)?(?:{self.capital}|[1-9])(?![A-Za-z0-9'])"
        listed = rf"[*_`\"')\]]*\s*[,、]\s*{_OPEN}{self.capital}[*_`\"')\].\s]*(?:\n|$)"
        return re.compile(f"{joined}|{listed}", re.IGNORECASE).match(text, end) is not None

    @staticmethod
    def _in_doubt(text: str, start: int, end: int) -> bool:
        """Inside a condition, a denial or a question."""
        before = text[max(0, start - 80) : start]
        if _CONDITION.search(before) or _CUE_AGAINST.search(before) or is_supposed(before):
            return True
        if _MENTION_AGAINST.match(text, end):
            return True
        rest = _CLAUSE_END.match(text, end)
        return rest is not None and rest.group(1) == "?"

    def _whole(self, text: str) -> str | None:
        stripped = re.sub(r"[\s*_`\"'.。!]+$", "", re.sub(r"^[\s*_`\"']+", "", text))
        for words, letter in self.texts.items():
            if stripped.casefold() == words.casefold():
                return letter
        match = self.whole_token.fullmatch(text) if len(text) < 200 else None  # noqa: PLR2004 -- longer is prose
        return self._letter(match.group(1) or match.group(2)) if match else None

    def _letter(self, token: str) -> str | None:
        if token.isdigit():
            number = int(token)
            return self.letters[number - 1] if 1 <= number <= len(self.letters) else None
        return token.upper() if token.upper() in self.letters else None


def _distinct_texts(options: Iterable[Option]) -> dict[str, str]:
    """Option texts that tell the options apart; none when two are the same or one is a mere letter or sign."""
    pairs = [(" ".join(option.text.split()), option.letter) for option in options if option.text]
    texts = dict(pairs)
    if len({words.casefold() for words in texts}) != len(pairs):
        return {}
    return {words: letter for words, letter in texts.items() if re.search(r"\w", words)}


def _lines(text: str) -> list[tuple[int, str]]:
    found, start = [], 0
    for line in text.split("\n"):
        found.append((start, line))
        start += len(line) + 1
    return found
