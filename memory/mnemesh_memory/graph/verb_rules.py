"""The verbs and turns of phrase that state a relation, one row each.

A `VERB` row stands between its two ends. A `TURN` row holds its ends itself, as groups: `x` and `y` are noun phrases,
`c` is the rest of a clause. `>` reads subject, relation, object, and `<` the other way round.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

BE: Final = r"(?:is|are|was|were|has been|have been|had been|got|gets|being|'s)"
# An adverb may stand inside a verb.
MID: Final = r"(?: (?:now|also|still|currently|mostly|mainly|heavily|directly|only|fully|all|finally|already|recently|then|both|usually|always|largely|originally|later))?"


@dataclass(frozen=True, slots=True)
class VerbRule:
    """`relation` between the phrase before `verb` and that behind. `clause`: the second end is the rest of the clause.
    `actor`: the subject of the relation has to be a person or a team."""

    relation: str
    domain: str
    verb: re.Pattern[str]
    flip: bool = False
    clause: bool = False
    actor: bool = False


@dataclass(frozen=True, slots=True)
class TurnRule:
    """`relation` between the groups of `turn`: from the group that `subject` names to that of `object`."""

    relation: str
    domain: str
    turn: re.Pattern[str]
    subject: str = "x"
    object: str = "y"


def _verb(
    relation: str, domain: str, direction: str, pattern: str, *, clause: bool = False, actor: bool = False
) -> VerbRule:
    """A row. "BE" in a pattern stands for the forms of to be, and each blank lets an adverb in."""
    wide = pattern.replace("BE ", f"{BE}{MID} ")
    compiled = re.compile(rf"(?<![\w.`-])(?:{wide})(?![\w-])", re.IGNORECASE)
    return VerbRule(relation, domain, compiled, direction == "<", clause, actor)


def _turn(relation: str, domain: str, pattern: str, subject: str = "x", object: str = "y") -> TurnRule:
    wide = pattern.replace("BE ", f"{BE}{MID} ").replace("<NP>", r"(?:[^\s,;:.]+ ){0,4}?[^\s,;:]+?")
    return TurnRule(relation, domain, re.compile(rf"(?<![\w.-])(?:{wide})", re.IGNORECASE), subject, object)


VERBS: Final[tuple[VerbRule, ...]] = (
    # ---- dependencies
    _verb("depends_on", "dependencies", ">", r"depend(?:s|ed)?(?: heavily| directly| entirely)? (?:up)?on|rel(?:y|ies|ied)(?: heavily| directly)? (?:up)?on|requires?|needs?|BE dependent (?:up)?on|ha(?:s|ve) an?(?: \w+)? dependency on|builds? (?:up)?on|leans? on|counts? on"),
    _verb("depends_on", "dependencies", "<", r"BE (?:required|needed) (?:by|for)|BE an?(?: \w+)? dependency of"),
    _verb("uses", "dependencies", ">", r"uses?|using|utili[sz]es?|employs?|leverages?|adopted|makes? use of|BE (?:written|implemented|coded|programmed) (?:in|with)|BE (?:built|made|assembled) (?:with|in|using|from|on(?: top of)?)|BE (?:powered|driven|backed) by|BE based (?:up)?on|builds? with"),
    _verb("uses", "dependencies", "<", r"(?:BE )?used by|powers|underpins|drives"),
    _verb("runs_on", "dependencies", ">", r"(?:runs?|running)(?: happily| fine| best)? (?:on(?: top of)?|under|atop|inside)|(?:BE )?hosted (?:on|at|by|with|in)|executes? (?:on|under)|lives? on|BE run (?:on|under)"),
    _verb("runs_on", "dependencies", "<", r"hosts"),
    _verb("deployed_to", "dependencies", ">", r"(?:(?:BE )?(?:deployed|shipped|rolled out|released|promoted|pushed|published|installed) (?:in)?to|ships? to|deploys? to|rolls? out to|went live (?:in|on)|BE live (?:in|on)|landed (?:in|on))"),
    _verb("connects_to", "dependencies", ">", r"talks? to|calls?|invokes?|quer(?:y|ies)|polls?|communicates? with|speaks? to|BE connected to|connects? to|reads? from|writes? to|subscribes? to|listens? to|consumes? from|consumes|publishes to|posts? to|syncs? (?:with|to)|fetches from|pulls? from|streams? (?:in)?to|forwards? to|pushes to|hits|reports? metrics to|feeds(?: into)?|pings|contacts"),
    # ---- code
    _verb("imports", "code", ">", r"imports?|BE importing|pulls? in"),
    _verb("imports", "code", "<", r"(?:BE )?imported (?:by|in|into|from)"),
    _verb("defines", "code", ">", r"defines?|declares?|exports?|implements?"),
    _verb("defines", "code", "<", r"(?:BE )?(?:defined|declared|implemented|exported) (?:in|by|from|inside|at)"),
    _verb("located_in", "code", ">", r"(?:lives?|resides?|sits?|stays?) (?:in|under|inside|at|within|next to|on)|BE (?:located|stored|kept|placed|saved|situated|found|held|persisted|cached|archived) (?:in|under|inside|at|within|on)|(?:BE )?based in|can be found (?:in|under|at|on)|BE (?:in|under|at)(?= [`\"]?[\w.~-]*/)|BE in(?= (?:the )?(?-i:[A-Z]))|(?:BE )?(?:headquartered|housed|mounted) (?:in|at|under)|ends? up (?:in|on|under)|lands? in|lies? (?:in|under)|goes? into|go into"),
    _verb("located_in", "code", "<", r"holds?|houses?|stores?|keeps?"),
    _verb("part_of", "code", ">", r"makes? up|one of the \w+ (?:of|in)|(?:BE )?(?:a |an |one )?(?:core |key |central )?(?:part|component|module|submodule|piece|section|subsystem) of|belongs? to|BE (?:included|bundled|contained|embedded) (?:in|with|into)|forms? part of"),
    _verb("part_of", "code", "<", r"contains?|consists? of|includes?|comprises?|BE (?:made up|composed|comprised) of|bundles?|encompass(?:es)?|BE split into"),
    # ---- decisions
    _verb("replaced_by", "decisions", ">", r"BE (?:replaced|superseded|succeeded|displaced) (?:by|with)|gave way to|made way for|BE (?:swapped|exchanged|dropped|retired|abandoned|ditched|phased out) (?:for|in favou?r of)"),
    _verb("replaced_by", "decisions", "<", r"replaces?|replaced|supersedes?|superseded|succeeds|succeeded|took over from|took the place of|takes the place of|BE the (?:successor|replacement) (?:of|to|for)|displaced|stands in for"),
    # ---- errors
    _verb("caused_by", "errors", ">", r"BE (?:caused|triggered|provoked|produced|brought on|explained) by|(?:BE |failed |broke |happened |occurred |stopped |crashed |started |happens |occurs |breaks |fails |crashes |stops |was down )?(?:due to|because of|thanks to)|(?:comes?|came|stems?|stemmed|result(?:s|ed)|arose|originat(?:es|ed)) from|turned out to be|BE (?:traced|down)(?: back)? to|goes back to|went back to|BE a (?:result|consequence) of|BE the (?:result|consequence) of", clause=True),
    _verb("caused_by", "errors", "<", r"causes|caused|triggers?|triggered|led to|leads to|result(?:s|ed) in|brought down|broke|BE (?:the |a )?(?:root |main |real )?(?:cause of|reason for|reason behind|culprit behind|source of)|BE (?:to blame|responsible) for the|produced|provoked|BE behind"),
    _verb("fixed_by", "errors", ">", r"BE (?:fixed|resolved|solved|cured|addressed|cleared|remedied|repaired|corrected|mitigated|worked around) (?:by|with|in|through|when|after)|(?:goes|went|disappears|disappeared|vanished|vanishes|stopped) (?:away )?(?:with|after|once|when|by)", clause=True),
    _verb("fixed_by", "errors", "<", r"fix(?:es|ed)|resolve[sd]|solve[sd]|cure[sd]|cleared(?: up)?|remedied|repaired|got rid of|gets rid of|BE the (?:fix|cure|remedy|workaround) for|eliminated|corrected"),
    _verb("occurs_in", "errors", ">", r"(?:occur(?:s|red)?|happen(?:s|ed)?|appear(?:s|ed)?|show(?:s|ed)? up|surface[sd]?|pop(?:s|ped) up|BE (?:raised|thrown|seen|observed|reported|logged|hit)|arise[s]?|arose|came up|comes up|come up|start(?:s|ed)) (?:in|inside|within|at|from|by)"),
    # ---- people
    _verb("reports_to", "people", ">", r"reports? (?:directly )?to|answers? to|works? under|BE (?:managed|supervised|led) by", actor=True),
    _verb("reports_to", "people", "<", r"manages?|supervises?|BE the (?:manager|boss|supervisor) of", actor=True),
    _verb("owns", "people", ">", r"owns?|maintains?|BE (?:now |also )?(?:responsible for|in charge of)|looks? after|takes? care of|BE (?:the |an? )?(?:owner|maintainer|lead|keeper|steward) (?:of|for)|took over|has taken over|BE on the hook for|ha(?:s|ve) ownership of|holds? responsibility for", actor=True),
    _verb("owns", "people", "<", r"(?:BE )?(?:owned|maintained|looked after|run|managed|operated|kept) by|BE in the (?:hands|care) of|falls? to|BE the responsibility of|has been handed (?:over )?to|was handed (?:over )?to", actor=True),
    _verb("works_on", "people", "<", r"(?:BE )?worked on by", actor=True),
    _verb("works_on", "people", ">", r"contributes? to|(?:BE )?working on|works? on|BE (?:now )?(?:assigned to|busy with|busy on|focused on|focusing on|tasked with)|spends? (?:her|his|their|most|all)(?: \w+)* (?:time|days) on", actor=True),
    _verb("member_of", "people", ">", r"joined|BE (?:now )?(?:on|in|part of)(?= (?:the |our )?[\w -]{2,40}(?:team|squad|group|crew|guild|department|committee)\b)|works? (?:at|for)|BE (?:an? |the )?(?:new )?(?:member|\w+ engineer|engineer|employee|designer|developer|analyst) (?:of|at|in|on)|BE employed (?:by|at)|sits? on|serves? on", actor=True),
    _verb("created", "people", ">", r"wrote|has written|built|created|designed|introduced|authored|developed|implemented|invented|coded|drafted|came up with|BE the (?:author|creator|designer|inventor) of|set up|founded|started|made", actor=True),
    _verb("created", "people", "<", r"(?:BE )?(?:written|built|created|designed|introduced|authored|developed|implemented|invented|coded|drafted|made|contributed|set up|founded) by", actor=True),
)  # fmt: skip

_TAKEN: Final = r"(?:chose|choose|picked|selected|preferred|favou?red|adopted|decided (?:on|for)|decided to (?:use|adopt|go with|take)|went (?:with|for)|opted for|settled (?:on|for)|standardi[sz]ed on|took)"
_OVER: Final = r"(?:over|instead of|rather than|in preference to|ahead of|and not|above)"
_MOVED: Final = r"(?:migrated|moved|switched|transitioned|converted|ported|changed|went|migration|move|switch)"
_WHY: Final = r"(?:because of|because|since|due to|as it|thanks to|on account of)"


def begins_verb(text: str, at: int) -> bool:
    """Whether the verb of a rule begins at this place."""
    return any(rule.verb.match(text, at) for rule in VERBS)


TURNS: Final[tuple[TurnRule, ...]] = (
    _turn("chosen_over", "decisions", rf"{_TAKEN} (?P<x><NP>) {_OVER} (?P<y>.+)"),
    _turn("chosen_over", "decisions", rf"(?:we|i|they|team) (?:now |still |always )?(?:use|uses|used|run|write) (?P<x><NP>) {_OVER} (?P<y>.+)"),
    _turn("chosen_over", "decisions", rf"(?:choice|vote|decision) (?:fell on|went to|was) (?P<x><NP>) {_OVER} (?P<y>.+)"),
    _turn("chosen_because", "decisions", r"(?:reason for (?:choosing|picking|taking|using)|reason (?:why )?we (?:chose|picked|took|use)) (?P<x><NP>) (?:was|is) (?P<c>.+)", "x", "c"),
    _turn("chosen_over", "decisions", r"prefer(?:red|s)? (?P<x><NP>) to (?P<y>.+)"),
    _turn("chosen_over", "decisions", rf"instead of (?P<y><NP>),? (?:\w+ ){{1,4}}?{_TAKEN} (?P<x>.+)"),
    _turn("chosen_over", "decisions", rf"(?P<b>)BE (?:chosen|picked|selected|preferred|favou?red|adopted|taken) (?:{_OVER}|to) (?P<y>.+)", "b"),
    _turn("chosen_over", "decisions", r"(?:rejected|turned down|passed on|ruled out) (?P<y><NP>) (?:in favou?r of|and (?:took|chose|picked)) (?P<x>.+)"),
    _turn("chosen_over", "decisions", r"(?P<b>)(?:beat|won over|won out over|won against) (?P<y>.+)", "b"),
    _turn("chosen_because", "decisions", rf"{_TAKEN} (?P<x><NP>)(?: {_OVER} <NP>| to <NP>)?(?: for <NP>)?,? {_WHY} (?P<c>.+)", "x", "c"),
    _turn("chosen_because", "decisions", rf"(?:we|i|they|team) (?:now |still |always )?(?:use|uses|used|run) (?P<x><NP>)(?: {_OVER} <NP>)?(?: (?:for|as) <NP>)?,? because (?:of )?(?P<c>.+)", "x", "c"),
    _turn("chosen_because", "decisions", rf"(?P<b>)BE (?:chosen|picked|selected|preferred|favou?red|adopted)(?: {_OVER} <NP>)?,? {_WHY} (?P<c>.+)", "b", "c"),
    _turn("replaced_by", "decisions", rf"{_MOVED}(?: <NP>)??(?: away)? from (?P<x><NP>) (?:over )?to (?P<y>.+)"),
    _turn("replaced_by", "decisions", r"replaced (?P<x><NP>) (?:with|by) (?P<y>.+)"),
    _turn("replaced_by", "decisions", r"(?:swapped(?: out)?|substituted|exchanged|traded(?: in)?) (?P<x><NP>) (?:with|for|by) (?P<y>.+)"),
    _turn("replaced_by", "decisions", r"(?:dropped|abandoned|ditched|retired|left|deprecated|traded|gave up|phased out) (?P<x><NP>) (?:for|in favou?r of) (?P<y>.+)"),
    _turn("located_in", "code", r"(?:find|keep|keeps|kept|store|stores|stored|put|puts|save|saves|saved|placed|places|archive|archives|archived) (?P<x><NP>) (?:in|under|inside|at|on) (?P<y>.+)"),
    _turn("deployed_to", "dependencies", r"(?:deployed|shipped|released|promoted|pushed|installed) (?P<x><NP>) (?:on)?to (?P<y>.+)"),
    _turn("deployed_to", "dependencies", r"rolled (?P<x><NP>) out to (?P<y>.+)"),
    _turn("deployed_to", "dependencies", r"rolled out (?P<x><NP>) to (?P<y>.+)"),
    _turn("connects_to", "dependencies", r"(?P<b>)(?:sends?|publishes|publish|pushes|push|posts?|forwards?|streams?|ships?|writes?|emits?|uploads?|exports?) (?:<NP>) (?:in)?to (?P<y>.+)", "b"),
    _turn("connects_to", "dependencies", r"(?P<b>)(?:reads?|fetches|fetch|pulls?|consumes?|gets?|loads?|receives?) (?:<NP>) from (?P<y>.+)", "b"),
    _turn("imports", "code", r"in (?P<x><NP>),? (?:we|it|they|i) import (?P<y>.+)"),
    _turn("has_version", "dependencies", r"(?:upgraded|updated|bumped|downgraded|moved|pinned|raised|locked|pins|locks|holds|keeps) (?P<x><NP>)(?: from v?[\d.]+)? (?:to|at) (?:version )?(?P<v>v?\d[\w.+-]*)", "x", "v"),
    _turn("has_version", "dependencies", r"(?P<b>)BE (?:pinned|upgraded|updated|bumped|locked|held|fixed|now|still|set)(?: back)?(?: from v?[\d.]+)? (?:to|at|on) (?:version )?(?P<v>v?\d[\w.+-]*)", "b", "v"),
    _turn("has_version", "dependencies", r"(?:version of|release of) (?P<x><NP>) (?:is|was) (?:now |still )?(?:at )?(?P<v>v?\d[\w.+-]*)", "x", "v"),
    _turn("has_version", "dependencies", r"(?P<b>)BE (?:now |still )?(?:at|on) (?:version )?(?P<v>v?\d+(?:\.\d+)+)", "b", "v"),
    _turn("has_version", "dependencies", r"(?:version|release) (?P<v>v?\d[\w.+-]*) of (?P<x>.+)", "x", "v"),
    _turn("imports", "code", r"(?P<x>[\w/-]+\.\w{1,5}) [^.;]{0,60}?`(?:from|import) (?P<y>[\w.]+)(?: import [\w, *]+)?(?: as \w+)?`"),
    _turn("imports", "code", r"`(?:from|import) (?P<y>[\w.]+)(?: import [\w, *]+)?(?: as \w+)?` [^.;]{0,60}?(?P<x>[\w/-]+\.\w{1,5})"),
    _turn("caused_by", "errors", r"(?:root |real |main )?(?:cause of|reason for|reason behind|culprit (?:of|behind)|source of) (?P<x><NP>) (?:is|was|were|turned out to be) (?P<c>.+)", "x", "c"),
    _turn("caused_by", "errors", r"traced (?P<x><NP>)(?: back)? to (?P<c>.+)", "x", "c"),
    _turn("caused_by", "errors", r"blamed (?P<x><NP>) on (?P<c>.+)", "x", "c"),
    _turn("fixed_by", "errors", r"(?:fixed|resolved|solved|cured|cleared|worked around|mitigated|got rid of|addressed|eliminated|stopped|repaired) (?P<x><NP>) (?:by|with|through) (?P<c>.+)", "x", "c"),
    _turn("fixed_by", "errors", r"(?:fix|cure|remedy|workaround|solution) for (?P<x><NP>) (?:is|was) (?:to )?(?P<c>.+)", "x", "c"),
    _turn("fixed_by", "errors", r"(?P<g>)(?:made|makes) (?P<x><NP>) (?:go away|disappear|vanish)", "x", "g"),
    _turn("occurs_in", "errors", r"(?P<b>)(?:crash(?:es|ed)|fail(?:s|ed)|panic(?:s|ked)|die[sd]|dies|abort(?:s|ed)|exit(?:s|ed)) with (?P<y>.+)", "y", "b"),
    _turn("occurs_in", "errors", r"(?P<b>)(?:throws|threw|raises|raised|logs|logged|reports|reported|hits|hit) (?P<e>an? .+)", "e", "b"),
    _turn("owns", "people", r"(?P<y><NP>)['\u2019]s (?:owner|maintainer) is (?P<x>.+)"),
    _turn("owns", "people", r"(?:owner|maintainer) of (?P<y><NP>) is (?P<x>.+)"),
    _turn("owns", "people", r"responsibility for (?P<y><NP>) (?:lies|rests|sits) with (?P<x>.+)"),
    _turn("reports_to", "people", r"(?P<b>)BE (?P<x>[^\s,;:]+)['\u2019]s (?:\w+ )?(?:manager|boss|supervisor)\b", "x", "b"),
    _turn("reports_to", "people", r"(?P<x>[^\s,;:]+)['\u2019]s (?:\w+ )?(?:manager|boss|supervisor) is (?P<y>.+)"),
    _turn("created", "people", r"(?:author|creator|designer) of (?P<y><NP>) is (?P<x>.+)"),
)  # fmt: skip
