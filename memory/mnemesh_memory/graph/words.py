"""The closed word classes by which a noun phrase ends and a statement is none. English."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DETERMINERS: Final = _words("the a an our my your his her its their this that these those")
PRONOUNS: Final = _words(
    "i we you he she it they me us him them who whom whose which what that this these those there here "
    "everyone everybody anyone anybody someone somebody nobody noone none nothing something anything "
    "everything each all both another other others one ones it's that's thats mine ours yours theirs himself itself "
    "themselves"
)
PREPOSITIONS: Final = _words(
    "in on at for from to with without by over under into onto through via during after before since until "
    "till as than per about across between against within inside outside behind above below upon like toward "
    "towards among beside despite except near off past unlike except along around"
)
CONJUNCTIONS: Final = _words(
    "because when while if whether that which who whose where so but although though unless once whenever "
    "instead rather due then hence therefore thus nor yet plus"
)
AUXILIARIES: Final = _words(
    "is are was were be been being am has have had will would can could should shall may might must does do "
    "did done gets got cannot"
)
ADVERBS: Final = _words(
    "now already directly still again today yesterday tomorrow always never only also too often usually "
    "currently mostly mainly just even ever soon later earlier recently last next every twice once "
    "exclusively entirely internally instead anyway though however not no ago alone too first finally "
    "originally automatically together back away out up down"
)
QUANTIFIERS: Final = _words(
    "more most less least few fewer many much some any several enough one two three four five six seven eight "
    "nine ten half another other such same own no every each all both different various certain"
)
CALENDAR: Final = _words(
    "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays "
    "saturdays sundays january february march april may june july august september october november december "
    "today yesterday tomorrow noon midnight morning afternoon evening night weekend weekends spring summer "
    "autumn fall winter q1 q2 q3 q4 week month year day weeks months years days hour hours minute minutes "
    "second seconds time"
)
STOP_WORDS: Final = (
    DETERMINERS
    | PRONOUNS
    | PREPOSITIONS
    | CONJUNCTIONS
    | AUXILIARIES
    | ADVERBS
    | QUANTIFIERS
    | _words(
        "and or of thing things stuff way ways case cases lot lots bit kind sort part parts fact point people "
        "person yes ok okay note todo fixme please thanks new old good bad reason cause problem problems "
        "issue issues work love care weather fun sense use account place example change changes"
    )
)
# A clause with one of these states no fact of now.
UNSAID: Final = _words(
    "not never no nobody neither nor none cannot without hardly barely rarely will would should might may "
    "could shall must if unless maybe perhaps whether probably possibly supposedly hopefully ideally "
    "eventually soon let's lets stopped plan plans planned planning want wants wanted hope hopes intend "
    "intends considering consider wish wishes propose proposes proposed suggest suggests suggested ought "
    "supposed expect expects expected think thinks guess guesses suspect suspects suspected doubt doubts "
    "formerly previously imagine assume ask asked asks wonder wonders wondering"
)
TEAM_WORDS: Final = _words("team teams squad group crew guild department committee unit staff")
ERROR_WORDS: Final = _words(
    "error errors exception exceptions crash crashes timeout timeouts panic panics leak leaks deadlock "
    "deadlocks fault faults failure failures bug bugs regression regressions overflow race races pointer hang "
    "hangs freeze stall glitch outage mismatch warning warnings corruption"
)
