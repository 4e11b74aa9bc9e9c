"""Penn Treebank tokens of captions, equal to those of the PTBTokenizer of ``pycocoevalcap``, without Java.

The original writes all captions into one file, a line each, runs a lexer over it, converts to lower case and drops 17
punctuation tokens. Most pieces between two spaces give the same tokens in every context, so each distinct piece is
tokenised once. If the tokens of a piece depend on the following text, its caption is tokenised as one string. As in the
original, the tokens at the end of a caption may depend on the next caption ("Wii U." before "A man" is no initial).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from ..arrays import composed
from ..errors import count_of, unknown
from ..types import Int
from .tokens import Int32, Numbers, Tokens, from_lists

Normalise = Callable[[str], str]

# Letters and digits. Python counts fractions, superscripts and letterlike numerals as letters; the original does not.
_NUMERALS = r"\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u209f\u2150-\u218f\u2460-\u24ff\u2776-\u2793"
_ALPHA = rf"[^\W\d_{_NUMERALS}]"
_ALNUM = rf"[^\W_{_NUMERALS}]"
_LETTER = rf"(?:{_ALPHA}|&[aeiouAEIOU](?i:acute|grave|uml);|[\u00ad\u0300-\u036f])"
_SIGN = rf"(?:{_LETTER}|\d)"
_WORD = rf"{_LETTER}{_SIGN}*(?:[.!?]{_LETTER}{_SIGN}*)*"
_SPACE = r"[ \t\u00a0\u2000-\u200a\u3000]"
_BLANK = r"[ \t\u00a0\u2000-\u200a\u3000\r\n\u2028\u2029\x0b\x0c\x85]"

# Apostrophes and clitics.
_APOS = r"(?:['\u0092\u2019]|(?i:&apos;))"
_APOS_INSIDE = r"(?:['`\u0091\u0092\u2018\u2019\u201b]|(?i:&apos;))"
_CLITIC = rf"{_APOS}(?:[msdMSD]|(?i:re|ve|ll))"
_NOT = rf"(?i:n){_APOS_INSIDE}(?i:t)"

# Compounds.
_HYPHEN = r"[-_\u058a\u2010\u2011]"
_PART = rf"(?:[dDoOlL]{_APOS_INSIDE}{_ALNUM})?{_ALNUM}+"
_COMPOUND = rf"{_PART}(?:{_HYPHEN}{_PART})*"
_CAPITALS = r"[A-Z]+(?:(?:(?i:&amp;)|[+&])[A-Z]+)+"
_STOPS = r"[,;:\u3001]"  # stops inside a sentence

# Abbreviations. Some are limited to one spelling, because another is a common word.
_INITIALS = (
    r"(?:[A-Za-z](?:\.[A-Za-z])+|(?i:canada|sino|korean|eu|japan|non)-(?i:u\.s)|(?i:u\.s\.-)(?i:u\.s\.s\.r|u\.k))"
)
_HYPHENED = r"[A-Za-z0-9][A-Za-z0-9.,\u00ad]*(?:-(?:[A-Za-z](?:\.[A-Za-z])+\.|[A-Za-z0-9\u00ad]+))+"
_ENDING = (  # may end a sentence
    r"(?:(?i:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mon|tues?|wed|thu|thurs|fri"
    r"|ala|ariz|calif|colo|conn|ct|dak|fla|ga|ind|kans?|ky|md|mich|minn|mo|mont|neb|nev|okla|penn|tenn|va|vt|wisc?|wyo"
    r"|inc|cos?|corp|ltd|plc|rt|bancorp|bhd|assn|univ|intl|sys|tel|est|ext|sq"
    r"|jr|sr|bros|blvd|rd|ed\.d|ph\.d|esq|etc|al|seq|bldg)"
    r"|A(?i:z|rk)|D(?i:el)|I(?i:ll)|L(?i:a)|M(?i:ass|iss)|O(?i:re)|P(?i:a)|T(?i:ex)|W(?i:ash)|(?i:pp?t)[ye](?i:s?))\."
)
_LEADING = (  # comes before another word
    r"(?:(?i:mr|mrs|ms|drs?|profs?|sens?|reps?|attys?|lt|col|gen|messrs|govs?|adm|rev|maj|sgt|cpl|pvt|mt|capt|ste?"
    r"|ave|pres|lieut|hon|brig|co?mdr|pfc|spc|supts?|det|ft|adj|adv|asst|assoc|ens|insp|mlle|mme|msgr|sfc"
    r"|vs|alex|wm|jos|cie|a\.k\.a|cf|treas|invt|elec|natl|dept|ph)"
    rf"|(?i:m)[ft](?i:g)|M(?i:iss)|{_INITIALS}|[A-Za-z])"
)
_COUNTED = r"(?i:ca|figs?|prop|nos?|art|bldg|pp|op)\."  # an abbreviation before a number only
_OPENER = (  # words that open a sentence, after which a single letter with a full stop is no initial
    r"(?:A(?i:bout|ccording|dditionally|fter|n|s|t)?|B(?i:ut)|E(?i:arlier)|H(?i:e|er|ere|owever)|I(?i:f|n|t)"
    r"|L(?i:ast)|M(?i:any|ore|r\.|s\.)|N(?i:ow)|O(?i:nce|ne|ther|ur)|S(?i:he|ince|o|ome|uch)"
    r"|T(?i:hat|he|heir|hen|here|hese|hey|his)|W(?i:e|hen|hile|hat)|Y(?i:et|ou))"
)

# Numbers.
_NUMBER = r"[-+]?(?:\d*(?:[.:,\u00ad\u066b\u066c]\d+)+|\d+)"
_FRACTION = r"(?:\d{1,4}[- \u00a0])?\d{1,4}(?:\\?/|\u2044)\d{1,4}"
_PHONE = (
    r"(?:\([0-9]{2,3}\)[ \u00a0]?|(?:\+\+?)?(?:[0-9]{2,4}[- \u00a0])?[0-9]{2,4}[- \u00a0])"
    r"[0-9]{3,4}[- \u00a0]?[0-9]{3,5}"
    r"|(?:(?:\+\+?)?[0-9]{2,4}\.)?[0-9]{2,4}\.[0-9]{3,4}\.[0-9]{3,5}"
)

# The web.
_TAIL = r"/[^ \t\n\f\r\"<>|()]+[^ \t\n\f\r\"<>|.!?(){},-]"
_URL = r"(?i:https?)://[^ \t\n\f\r\"<>|(){}]+[^ \t\n\f\r\"<>|.!?(){},-]"
_LABELS = r"(?:[^ \t\n\f\r\"<>|.!?(){},]+\.)"
_HOST = rf"(?:[^ \t\n\f\r\"`'<>|.!?(){{}},-_$]+\.)+(?i:com|net|org|edu)(?:{_TAIL})?"
_MAIL = (
    r"(?:(?i:&lt;)|<)?[a-zA-Z0-9][^ \t\n\f\r\"<>|(){}\u00a0]*@(?:[^ \t\n\f\r\"<>|(){}.\u00a0]+\.)*"
    r"[^ \t\n\f\r\"<>|(){}.\u00a0]+(?:(?i:&gt;)|>)?"
)
_EXTENSION = (
    r"(?i:bat|bmp|cgi|class|cpp|c|dll|docx|doc|exe|gif|gz|html|htm|h|jar|java|jpeg|jpg|mov|mp3|pdf|php|pl|png"
    r"|ppt|ps|py|sql|tar|txt|wav|xml|x|zip)"
)
_NAME = r"[A-Za-z][A-Za-z0-9:._-]*"
_QUOTED = r"(?:'[^'\r\n]*'|\"[^\"\r\n]*\")"
_TAG = (
    rf"<(?:[!?][A-Za-z-][^>\r\n]*|{_NAME}(?: +{_NAME}(?: *= *{_QUOTED})?)* */?|/{_NAME}) *>"
)  # fmt: skip
_FACE = (  # the first one goes on up to the next < in the text
    r"[\^x=~<>]\.\[\^[xX]=[^<]*<>\]|[-^x=~<>']_[-^x=~<>']|\([-^x=~<>'][_.]?[-^x=~<>']\)|\([\^x=~<>']-[\^x=~<>'`]\)"
)  # fmt: skip

_SYMBOL = (
    r"[+%&~^|\\\u00a6-\u00a9\u00ac\u00ae-\u00ba\u00d7\u00f7\u2016\u2017\u2020-\u2023\u2030-\u2038\u203b\u203e-\u2042"
    r"\u2044\u207a-\u207f\u208a-\u208e\u2100-\u214f\u2190-\u2bff\u3012\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40"
    r"\uff5b-\uff65]"
)


def _same(token: str) -> str:
    return token


def _always(text: str) -> Normalise:
    return lambda token: text


def _no_soft_hyphens(token: str) -> str:
    return token.replace("\u00ad", "") or "-"


def _ampersands(token: str) -> str:
    return re.sub("(?i)&amp;", "&", token)


def _brackets(token: str) -> str:
    return token.replace("(", "-LRB-").replace(")", "-RRB-")


_PLAIN = ('"', "&quot;")  # &Quot; is a token too, and stays as it is
_QUOTES = (
    ("&apos;", "'"), ("&quot;|\"", "''"), ("[\u0091\u2018\u201b\u2039]", "`"), ("[\u0092\u2019\u203a]", "'"),
    ("[\u0093\u201c\u00ab]", "``"), ("[\u0094\u201d\u00bb]", "''"),
)  # fmt: skip


def _quotes(token: str) -> str:
    for pattern, text in _QUOTES:
        token = re.sub(pattern, text, token)
    return token


def _currency(token: str) -> str:
    return re.sub("[\u0080\u00a4\u20a0\u20ac]", "$", token.replace("\u00a2", "cents").replace("\u00a3", "#"))


_VULGAR = {"\u00bc": "1/4", "\u00bd": "1/2", "\u00be": "3/4", "\u2153": "1/3", "\u2154": "2/3"}


class Rule(NamedTuple):
    """One rule.

    Attributes:
        match: the compiled expression's ``match``.
        normalise: from the matched text to the token; None when the match is no token.
        starts: kinds of first character of a match: ``a`` a letter, ``0`` a digit, ``.`` anything else.
        needs: the rule can match only in a text that contains this; empty: in any.
    """

    match: Callable[[str, int], re.Match[str] | None]
    normalise: Normalise | None
    starts: str
    needs: str


def _rule(starts: str, pattern: str, normalise: Normalise | None = _same, needs: str = "") -> Rule:
    return Rule(re.compile(pattern).match, normalise, starts, needs)


RULES: tuple[Rule, ...] = (
    _rule("a", r"((?i:can))(?i:not)"),
    _rule(".", r"('(?i:t))(?i:was)"),
    _rule("a", r"((?i:gon|wan))(?i:na)|((?i:got))(?i:ta)|((?i:lem|gim))(?i:me)"),
    _rule(".", r"('(?i:t))(?i:is)"),
    _rule(".", _TAG, needs="<"),
    _rule(".", r"(?i:&(?:md|mdash|ndash);)|[\u0096\u0097\u2013\u2014\u2015]", _always("--")),
    _rule(".", r"(?i:&amp;)", _always("&"), needs="&"),
    _rule(".", r"(?i:&(?:ht|tl|ur|lr|qc|ql|qr|odq|cdq|#[0-9]+);)", needs="&"),
    _rule("a.", rf"({_WORD}){_CLITIC}", _no_soft_hyphens),
    _rule("a.", rf"([A-Za-z\u00ad]*[A-MO-Za-mo-z]\u00ad*){_NOT}", _no_soft_hyphens),
    _rule("a.", _WORD, _no_soft_hyphens),
    _rule(".", rf"{_APOS}(?i:n){_APOS}?|{_APOS}(?i:em|till?|cause)|{_APOS}[2-9](?i:0s)"),
    _rule("a", rf"[lLdDjJ]{_APOS}|(?i:dunkin|somethin|ol){_APOS}|(?i:o){_APOS_INSIDE}(?i:o)"),
    _rule("a", r"(?i:cont'd\.?|nor'easter|c'mon|e'er|s'mores|ev'ry|li'l|nat'l)", needs="'"),
    _rule("a", rf"[A-HJ-XZn]{_APOS_INSIDE}{_ALPHA}{{2,}}"),
    _rule("a", rf"{_ALPHA}+[aeiouyAEIOUY]{_APOS_INSIDE}[aeiouA-Z]{_ALPHA}*"),
    _rule("a", rf"((?i:y){_APOS}){_ALPHA}"),
    _rule("a", _URL, needs="/"),
    _rule("a", rf"(?i:www)\.{_LABELS}+[a-zA-Z]{{2,4}}(?:{_TAIL})?", needs="."),
    _rule("a", rf"(?i:www)\.{_LABELS}+?[a-zA-Z]{{2,4}}{_TAIL}", needs="/"),  # with an earlier end of the host
    _rule("a0.", _HOST, needs="."),
    _rule("a0.", _MAIL, needs="@"),
    _rule(".", rf"@[a-zA-Z_][a-zA-Z_0-9]*|#{_LETTER}+"),
    _rule(".", rf"({_CLITIC})[^A-Za-z]", _quotes),
    _rule("a", rf"({_NOT})[^A-Za-z]", _quotes),
    _rule("0", r"\d{1,2}[-/]\d{1,2}[-/]\d{2,4}"),
    _rule("0.", _NUMBER, _no_soft_hyphens),
    _rule(".", r"[\u207a\u207b\u208a\u208b]?(?:[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]+|[\u2080-\u2089]+)"),
    _rule("0", _FRACTION),
    _rule(".", r"[\u00bc-\u00be\u2153-\u215e]", lambda token: _VULGAR.get(token, token)),
    _rule(".", r"-(?i:rrb|lrb|rcb|lcb|rsb|lsb)-", needs="-"),
    _rule("a", rf"(?i:c\.d\.s|pro-|anti-|s(?:&|&amp;)p-500|s(?:&|&amp;)ls|cap{_APOS}n|c{_APOS}est)", _ampersands),
    _rule("a0", r"[A-Za-z0-9]+(?:-[A-Za-z]+){0,2}(?:\\?/[A-Za-z0-9]+(?:-[A-Za-z]+){0,2}){1,2}", needs="/"),
    _rule("a.", r"[A-Z]*\$|#"),
    _rule(".", r"[\u00a2-\u00a5\u0080\u20a0\u20ac\u060b\u0e3f\u20a4\uffe0\uffe1\uffe5\uffe6]", _currency),
    _rule("a", rf"([A-Za-z])\.{_BLANK}+(?:{_OPENER}|{_TAG}){_BLANK}", needs="."),
    _rule("a", rf"({_COUNTED}){_BLANK}?\d", needs="."),
    _rule("a", rf"((?:(?i:pt)[eyEY]|(?i:co))\.){_SPACE}(?i:ltd|lim)", needs="."),
    _rule("a", rf"({_ENDING})[\s\S][\s\S]", needs="."),
    _rule("a", _ENDING, needs="."),
    _rule("a", rf"{_LEADING}\.", needs="."),
    _rule("a", rf"({_LEADING}){_SPACE}"),
    _rule("a", rf"({_INITIALS}){_BLANK}", needs="."),
    _rule(".", rf"({_APOS}[0-9][0-9]){_BLANK}"),
    _rule("a.", rf"({_WORD}\.){_STOPS}", _no_soft_hyphens),
    _rule("0.", _PHONE, _brackets),
    _rule("a0.", rf"({_SIGN}+(?:\.{_SIGN}+)*\.{_EXTENSION})(?:{_BLANK}|[.?!,])", needs="."),
    _rule(".", r"(\"|(?i:&quot;))[A-Za-z0-9$]", lambda token: "``" if token in _PLAIN else token),
    _rule(".", r"\"|(?i:&quot;)", lambda token: "''" if token in _PLAIN else token),
    _rule(".", r"<|(?i:&lt;)", _always("<")),
    _rule(".", r">|(?i:&gt;)", _always(">")),
    _rule(".", r"\[", _always("-LSB-")),
    _rule(".", r"\]", _always("-RSB-")),
    _rule(".", r"\{", _always("-LCB-")),
    _rule(".", r"\}", _always("-RCB-")),
    _rule(".", r"\(", _always("-LRB-")),
    _rule(".", r"\)", _always("-RRB-")),
    _rule(".", r"-+", lambda token: "--" if 3 <= len(token) <= 4 else token),
    _rule(".", r"\.{3,5}|(?:\.[ \u00a0]){2,4}\.|[\x85\u2026]", _always("...")),
    _rule(".", r"@+|#+|_+"),
    _rule(".", r"\*+|(?:\\\*){1,3}"),
    _rule(".", _STOPS),
    _rule(".", r"[?!]+"),
    _rule(".", r"[.\u00a1\u00bf\u037e\u0589\u061f\u06d4\u0700-\u0702\u07fa\u3002]"),
    _rule(".", r"[=/]"),
    _rule("a0", rf"({_HYPHENED}\.){_STOPS}", _no_soft_hyphens),
    _rule("a0", _HYPHENED, _no_soft_hyphens),
    _rule("a0", rf"({_COMPOUND}\.){_STOPS}"),
    _rule("a0", _COMPOUND),
    _rule("a", rf"({_CAPITALS}\.){_STOPS}", _ampersands),
    _rule("a", _CAPITALS, _ampersands),
    _rule(".", r"(')[A-Za-z][^ \t\n\r\u00a0]", _always("`")),
    _rule(".", _CLITIC, _quotes),
    _rule("a", _NOT, _quotes),
    _rule(".", rf"[`\u0091-\u0094\u2018-\u201f\u2039\u203a\u00ab\u00bb]{{1,2}}|''|{_APOS}", _quotes),
    _rule(".", r"<<|>>"),
    _rule("a", r"(?i:c\+\+|[cf]#)"),
    _rule(".", r"([<>]?[:;=][-o*']?[()DPdpO\\{@|\[\]])[^A-Za-z0-9]", _brackets),
    _rule("a.", _FACE, _brackets),
    _rule(".", _SYMBOL),
    _rule(".", rf"\0|{_BLANK}+|[\u200b\u200e\u200f\ufeff]|(?i:&nbsp;)", None),
)  # fmt: skip

# Lower-case words that are split, and words that keep a full stop: all other words are one token each.
SPLIT_WORDS = frozenset(("cannot", "gonna", "gotta", "lemme", "gimme", "wanna"))
BEFORE_STOP = re.compile(rf"(?:{_ENDING}|{_COUNTED}|(?:{_LEADING}|(?i:ark|az|del|ill|la|mass|miss|ore|pa|tex|wash))\.)")
# Last tokens, with a full stop, that depend on what follows the next space; and pieces that may reach beyond it.
NEEDS_NEXT = re.compile(rf"[A-Za-z]\.|{_COUNTED}|(?i:pt[ey])\.")
REACHES_ON = re.compile(r".*(?:<|\.\[\^[xX]=|&.*\.$)")


# The original drops the names of brackets in capitals, after the conversion to lower case: so brackets are kept.
DROPPED = frozenset(("''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";"))
# Characters for which the rules were compared with the original one by one; for others equality is not certain.
KNOWN_CHARACTERS = r"\t\n\r\x20-\x7e\u00a0-\u024f\u2010-\u2027\u2030-\u205e\u20a0-\u20b8\u2100-\u214f\u2190-\u22ff"
_UNCERTAIN = re.compile(rf"[^{KNOWN_CHARACTERS}]")
_STRANGE = re.compile(r"[^\x20-\x7e\n\r]")
LINE_ENDS = re.compile("\r\n|[\n\r\u2028\u2029\x0b\x0c\x85]")
_NEEDED = "".join(sorted({rule.needs for rule in RULES}))


def penn_treebank(captions: Sequence[str]) -> Tokens:
    """Lower-case Penn Treebank tokens without punctuation.

    They equal ``PTBTokenizer().tokenize`` of ``pycocoevalcap`` 1.2 on the same captions in the same order, each split
    at white space, as its metrics do. A line end inside a caption counts as a space.

    Args:
        captions: (caption,) strings.

    Returns:
        Tokens, with a note when a caption holds characters for which equality is not certain.
    """
    pieces = [caption.split() for caption in captions]
    numbers = Numbers()
    flat = numbers.numbers_of(list(chain.from_iterable(pieces)))  # (piece,) number of every piece
    caption_of = np.repeat(np.arange(len(captions)), np.fromiter(map(len, pieces), np.int64, len(captions)))
    tokens = [_piece(piece) for piece in numbers]
    in_context = _context_dependent(captions, list(numbers), flat, caption_of)
    if len(in_context):
        keep = np.isin(caption_of, in_context, invert=True)
        flat = np.concatenate([flat[keep], np.arange(len(tokens), len(tokens) + len(in_context), dtype=np.int32)])
        caption_of = np.concatenate([caption_of[keep], in_context])
        order = np.argsort(caption_of, kind="stable")
        flat, caption_of = flat[order], caption_of[order]
        tokens += [_without_punctuation(scan(*_with_next(captions, i))) for i in in_context.tolist()]
    return _assemble(tokens, flat, caption_of, len(captions), _notes(captions))


def scan(text: str, stop: int | None = None) -> Iterator[str]:
    """The tokens of running text as the lexer gives them: in the case of the text, with punctuation.

    Args:
        text: the text.
        stop: tokens start before this index; what follows is only context. By default the end of the text.
    """
    at, stop = 0, len(text) if stop is None else stop
    usable = _usable("".join(mark for mark in _NEEDED if mark in text))
    while at < stop:
        first = text[at]
        kind = "a" if first.isalpha() else "0" if first.isdecimal() else "."
        reach, found, rule = at, None, None
        for candidate in usable[kind]:
            match = candidate.match(text, at)
            if match is not None and match.end() > reach:
                reach, found, rule = match.end(), match, candidate
        if found is None or rule is None:  # no rule matches: the character is skipped
            at += 1
            continue
        token = found[found.lastindex or 0]
        at += len(token)
        if rule.normalise is not None:
            yield rule.normalise(token)


@cache  # at most one entry for every subset of the few marks
def _usable(marks: str) -> dict[str, tuple[Rule, ...]]:
    """The rules that can match in a text that contains these marks, by kind of first character."""
    return {kind: tuple(r for r in RULES if kind in r.starts and r.needs in marks) for kind in "a0."}


def _without_punctuation(tokens: Iterator[str]) -> list[str]:
    """Lower-case tokens without punctuation; a token that contains spaces (a tag) counts as several."""
    low = (token.lower() for token in tokens)
    return list(chain.from_iterable(token.split() for token in low if token not in DROPPED))


def _piece(piece: str) -> list[str]:
    """The tokens of a piece between two spaces, independent of its context."""
    low = piece.lower()
    if low.isalpha():
        if low not in SPLIT_WORDS:
            return [low]
    elif (
        low[-1] in ",!?."
        and low[:-1].isalpha()
        and low[:-1] not in SPLIT_WORDS
        and not (low[-1] == "." and (len(low) == 2 or BEFORE_STOP.fullmatch(piece)))
    ):
        return [low[:-1]]
    return _without_punctuation(scan(piece + "\n", len(piece)))


def _context_dependent(captions: Sequence[str], pieces: list[str], flat: Int32, caption_of: Int) -> Int:
    """Captions that cannot be tokenised piece by piece: (caption,) int64, ascending."""
    dependent = set[int]()
    if _STRANGE.search("".join(captions)):
        dependent.update(i for i, caption in enumerate(captions) if _STRANGE.search(caption))
    n = len(pieces)
    ahead = np.fromiter(map(_depends_on_next, pieces), bool, n)
    ends_digit = np.fromiter((p[-1].isdigit() or p[-1] == ")" for p in pieces), bool, n)
    starts_digit = np.fromiter((p[0].isdigit() for p in pieces), bool, n)
    ends_dot = np.fromiter((p[-1] == "." for p in pieces), bool, n)
    starts_dot = np.fromiter((p[0] == "." for p in pieces), bool, n)
    left, right = flat[:-1], flat[1:]
    joined = (ends_digit[left] & starts_digit[right]) | (ends_dot[left] & starts_dot[right])
    dependent.update(caption_of[ahead[flat]].tolist(), caption_of[:-1][joined].tolist())
    if captions:
        dependent.add(len(captions) - 1)  # the original has no line end after the last caption
    return np.array(sorted(dependent), np.int64)


def _depends_on_next(piece: str) -> bool:
    """Whether the tokens of a piece depend on what follows the next space."""
    if piece[-1] != ".":
        return ("<" in piece or "^" in piece) and REACHES_ON.match(piece) is not None
    low = piece[:-1].lower()
    if low.isalpha() and len(low) > 1:  # one word, maybe an abbreviation
        return NEEDS_NEXT.fullmatch(piece) is not None
    tokens = list(scan(piece + "\n", len(piece)))
    last = tokens[-1] if tokens[-1] != "." or len(tokens) == 1 else tokens[-2] + "."
    return REACHES_ON.match(piece) is not None or NEEDS_NEXT.fullmatch(last) is not None


def _with_next(captions: Sequence[str], i: int) -> tuple[str, int]:
    """Caption ``i`` with the line end and the next caption that is not empty, and the length of caption ``i``."""
    caption = LINE_ENDS.sub(" ", captions[i])
    lines, last = [caption], len(captions) - 1
    for following in range(i + 1, len(captions)):
        lines.append(LINE_ENDS.sub(" ", captions[following]))
        if lines[-1].strip():
            break
    ended = i < last and i + len(lines) - 1 < last
    return "\n".join(lines) + ("\n" if ended else ""), len(caption)


def _assemble(tokens: list[list[str]], flat: Int32, caption_of: Int, captions: int, notes: tuple[str, ...]) -> Tokens:
    """Concatenate the tokens of the pieces ``flat``; ``caption_of`` is the caption of every piece."""
    words = Numbers()
    every = words.numbers_of(list(chain.from_iterable(tokens)))
    size = np.fromiter(map(len, tokens), np.int64, len(tokens))
    first = np.cumsum(size) - size
    count = size[flat]
    index = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    word = every[np.repeat(first[flat], count) + index]
    per_caption = np.bincount(caption_of, weights=count, minlength=captions).astype(np.int64)
    return Tokens(tuple(words), word, np.concatenate([[0], np.cumsum(per_caption)]), notes)


def _notes(captions: Sequence[str]) -> tuple[str, ...]:
    uncertain = [caption for caption in captions if not caption.isascii() and _UNCERTAIN.search(caption)]
    if not uncertain:
        return ()
    characters = sorted(set(_UNCERTAIN.findall("".join(uncertain))))
    examples = ", ".join(f"U+{ord(c):04X}" for c in characters[:3]) + (" ..." if len(characters) > 3 else "")
    return (
        f"{count_of(len(uncertain), 'caption holds', 'captions hold')} characters whose tokens may differ from the "
        f"Java tokeniser ({examples})",
    )


def whitespace(captions: Sequence[str]) -> Tokens:
    """Lower case, split at white space; punctuation stays attached to its word."""
    return from_lists(caption.lower().split() for caption in captions)


TOKENISERS: dict[str, Callable[[Sequence[str]], Tokens]] = {
    "ptb": penn_treebank,
    "whitespace": whitespace,
}


def tokenise(captions: Sequence[str], how: str = "ptb") -> Tokens:
    """The tokens of captions in Unicode NFC.

    Args:
        captions: (caption,) strings; their order can matter, see ``ptb``.
        how: ``ptb``: lower-case Penn Treebank tokens without punctuation, those of the PTBTokenizer of
            ``pycocoevalcap``; ``whitespace``: lower case, split at white space.

    Raises:
        UsageError: no such tokeniser.

    Example:
        >>> import vsebench as vb
        >>> vb.tokenise(["A dog runs."]).lists()
        [['a', 'dog', 'runs']]
    """
    if how not in TOKENISERS:
        raise unknown("tokeniser", how, TOKENISERS)
    return TOKENISERS[how](list(map(composed, captions)))
