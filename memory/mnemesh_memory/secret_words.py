"""Judges a word that stands where a password would: chosen by someone as a password, or the next word of a sentence?

A password of plain words cannot be told from prose by its characters, so this knows the words that prose and code put
in that place: what a password is (required, hashed, wrong), where it is (vault), what its type is (string), in the
languages in which secrets.py knows the name. A password that is such a word is missed; that is the price.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from mnemesh_memory.secret_prose import COMMON_WORDS
from mnemesh_memory.secret_values import is_stand_in

_WORD: Final = re.compile(r"[A-Za-zÀ-ÖØ-öø-ÿА-Яа-яЁё]{6,40}")
_HYPHENATED: Final = re.compile(r"[a-z]{3,12}(?:-[a-z]{3,12}){2,7}")
_PHRASE_WORDS: Final = range(4, 9)
_SEED_WORDS: Final = range(12, 25)

_WORDS_OF_PROSE: Final = (
    # what it is
    " absent accepted alphanumeric ambiguous arbitrary better binary blank broken censored changing chosen cleartext"
    " common complex correct critical different difficult doable either elsewhere empty encoded english enough exact"
    " explicit exposed expired external fine forgotten foreign generic global good gone great hardcode hexadecimal"
    " hidden history identical implicit important incorrect incomplete inside insecure invalid invisible irrelevant"
    " known leaked legacy literal local lowercase mandatory manual minimum maximum missing mistaken needless"
    " necessary nonsense normal nothing nowhere numeric obligatory obsolete obvious official online offline opaque"
    " optional original outdated outside overwritten partial perfect permanent personal plain plaintext possible"
    " predictable present primary private proven public random readonly redundant required robust rotten routine"
    " safely salted secondary secret secure separate shared shorter longer simple simpler special stale static"
    " stolen strict strong stronger stupid temporary transient trivial unchanged unique unknown unsafe unsalted"
    " unset uppercase useless usable vacant valid verbatim visible visually weaker wrong written yours theirs"
    " yourself"
    # where it is, what is done about it, whom to ask
    " above administrator another anybody anyone asking because before behind below between beyond browser cannot"
    " changes client cluster company console contact container contain contains database default deploy disallow"
    " document documents during engineer environment everyone examples export filesystem follow generate generator"
    " ignore ignores import instead keyring letters laptop machine manager migration nobody notion number numbers"
    " operator onboarding option options owners ownership parameter policy please platform prompt prompts provider"
    " rather refers refresh registry regenerate remove replace request requires reset return returns retry review"
    " rotate rotates rotation runbook sealed secrets security server service services session settings should"
    " similar somebody someone something somewhere spaces stdin storage stored strength switch symbols system tbd"
    " tester tickets things through together toggle unless update updates upgrade validate validation validator"
    " verify version whatever whenever wherever whether whichever without within would"
    # types and code
    " argument arguments attribute attributes boolean buffer callable callback column command commands config"
    " constant control decimal double element entity entry failure fields formcontrol function header handler"
    " integer interface keyword length matcher method module nullable object params parser pattern passthrough"
    " passed process property readable readline record result schema scalar secretstr sensitive setting stringvar"
    " string strings struct symbol target textarea textfield textinput undefined unicode unsigned varbinary varchar"
    " variable virtual widget nvarchar charfield bytearray confirm hashing encrypt decrypt encryption mutation"
    " middleware"
    # products and tests
    " ansible bitwarden bcrypt docker dotenv github gitlab google hashicorp helper kerberos keepass keychain"
    " kubernetes lastpass linux macos windows oauth onepassword openssl postgres postgresql sealedsecrets sentry"
    " chezmoi cypress direnv doppler dashlane enpass gopass infisical keyctl libsecret mailhog mailpit pinentry"
    " playwright proton textbox zxcvbn terraform vaults authelia authentik keycloak okta azure amazon chrome firefox"
    " safari failed failing skipped"
    " tests"
    # other languages
    " abgelaufen ändern benötigt erforderlich falsch geändert gesperrt gültig hinterlegt kennwort leer nötig"
    " notwendig richtig siehe ungültig unbekannt vergessen verlangt wechseln demander demandez expiré incorrecte"
    " inchangé inconnu modifié obligatoire oublié perdu périmé requis cambiar contraseña correcta inválida ninguna"
    " obligatorio olvidar pendiente pregunta válida alterar errada expirou inválido nenhuma vazia забыт изменить"
    " неверно неверный обязательно обязателен отсутствует просрочен секрет скрыт спросить строка хранится"
)
_PROSE: Final = COMMON_WORDS.union(_WORDS_OF_PROSE.split())
_ENDING: Final = re.compile(
    r"(?:(?<!e)ed|ing|able|ible|ally|ntly|edly|arly|ately|onal|rnal|ical|tial|ivial|ual|atic|eric|etric|amic|ptic|ublic|ive"
    r"|ous|ful|less|ment|dent|rent|cient|vant|dant|tory|ation|ition|ness|ity|ssary|ulary|eable|wise|ized|proof"
    r"|erte|ida|ada|ido|ado|atoire|toria|torio|ный|ная|ное|ется|ится|ено|ано)$",
    re.IGNORECASE,
)
_NAME_PART: Final = re.compile(
    r"pass(?!ion|eng|age|port|ov)|pwd|hash|token|cred|value|field|input|param|config", re.IGNORECASE
)
_CAMEL: Final = re.compile(r"[a-z][A-Z]")
_WORDS_OF_FUNCTION: Final = (
    " a about after all an and any are as ask at be but by can do does every for four five six from get has have her"
    " his how if in into is it its let may more must my never new next no not of off on once one only or our out"
    " over per see she should so some than that the their them then there they this three to too two twelve until up"
    " use used using via was we what when where which who will with word words you your"
)
_FUNCTION_WORDS: Final = frozenset(_WORDS_OF_FUNCTION.split())


def is_word_password(value: str, *, place: Literal["code", "quotes", "prose"]) -> bool:
    """Whether one word, or words joined by hyphens, is a password. In the place of code a variable's or a type's name
    is none, in prose a capitalized word is none, because it is a name, a language or a day."""
    if is_stand_in(value):
        return False
    if _HYPHENATED.fullmatch(value):
        return not any(_is_prose(word) for word in value.split("-"))
    if not _WORD.fullmatch(value) or value.isupper() or len(set(value.lower())) <= 3:
        return False
    if _NAME_PART.search(value) or (place == "code" and _CAMEL.search(value)) or (place == "prose" and value.istitle()):
        return False
    return not _is_prose(value.lower())


def is_phrase(words: list[str]) -> bool:
    """Whether it is a row of unrelated words, as dice give them: hardly any that the prose about passwords has."""
    if len(words) not in _PHRASE_WORDS or _FUNCTION_WORDS.intersection(words):
        return False
    return sum(map(_is_prose, words)) <= 1


def is_seed(words: list[str]) -> bool:
    """Whether it is the recovery phrase of a wallet: 12 to 24 words of a list that has no function words (BIP 39)."""
    return len(words) in _SEED_WORDS and not _FUNCTION_WORDS.intersection(words)


def _is_prose(word: str) -> bool:
    return word in _PROSE or word in _FUNCTION_WORDS or (len(word) > 4 and _ENDING.search(word) is not None)
