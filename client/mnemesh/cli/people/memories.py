"""Answers as lines for people: what matters first, ids short enough to read and long enough to use again.

Colours only on a terminal that wants them. Every text of a memory passes `printable`, because others wrote it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Final

from mnemesh.api import values
from mnemesh.api.json_form import rfc3339
from mnemesh.api.values.embedding import ModelStatus
from mnemesh.cli.people import advice as people_advice
from mnemesh.cli.people import conflict_commands, explanations
from mnemesh.cli.people import links as people_links
from mnemesh.cli.people.memory_notes import SUSPICIOUS, note_lines, replaced
from mnemesh.cli.shell import NODE_OPTIONS, count_of, one_line, printable
from mnemesh.short_id import CHARS, short_id, with_short_ids

ID_CHARS: Final = CHARS
TITLE_CHARS: Final = 72
FIRST_CHARS: Final = 80
NODE_ID_CHARS: Final = 12
NEAR_SHOWN_MAX: Final = 3
SURPRISING_BITS: Final = 3.0
COUNTS_SHOWN_MAX: Final = 20
BOLD, DIM, GREEN, YELLOW, CYAN = "1", "2", "32", "33", "36"


def model_name(model: ModelStatus) -> str:
    """The name of an embedding model, with any unusual precision."""
    return one_line(model.name) + (f" in {one_line(model.precision)}" if model.precision not in ("", "fp32") else "")


def recalled(answer: values.Recalled, *, explain: bool = False, asked: bool = True) -> Iterator[str]:
    """Results, best first, each with its score, title or text, and where it is. Nothing was `asked` without a query:
    then they stand in order of time, and no score says how well they answer."""
    for rank, result in enumerate(answer.results, 1):
        title = one_line(result.title)
        passage = marked(result.snippet, result.marks) if result.marks else one_line(result.snippet or result.content)
        score = paint(f"{result.score:.2f}" if asked else "   -", GREEN)
        yield f"{rank:>2}  {score}  {paint(clip(title or passage), BOLD)}"
        if title and passage:
            yield f"          {passage}"
        # The time that words such as "last week" are compared with.
        day = shown_time(result.memory.valid_from or result.memory.created_at)[:10]
        yield "          " + _where(result.id, result.space, result.kind, result.tags, day=day)
        for head in result.memory.conflicts:
            yield paint(f"          in conflict with {head.revision} by {one_line(head.by)}:", YELLOW)
            yield f"          {one_line(conflict_commands.said(head, result.content))}"
        if result.memory.shown:
            yield paint(f"          {_shortened(result.memory)}", DIM)
        yield from (paint(f"          {line}", YELLOW) for line in note_lines(result.memory))
        if result.memory.superseded_by:
            yield paint(f"          superseded by {short_id(result.memory.superseded_by)}", YELLOW)
        if result.redirected_from:
            yield paint(f"          {short_id(result.redirected_from)} matched, and leads here", DIM)
        for line in people_links.ends(result.attached):
            yield paint(f"          {line}", CYAN)
        if explain:
            yield from (paint(line, DIM) if aside else line for line, aside in explanations.explained(result))
    if not answer.results:
        yield "nothing found in " + (", ".join(one_line(space) for space in answer.spaces) or "any space")
        yield from (paint(f"  {one_line(note)}", YELLOW) for note in answer.notes)
    yield from _triggered(answer.triggered)
    if answer.time is not None:
        yield paint(one_line(answer.time.told), DIM)
    if answer.truncated_by_budget:
        yield paint(f"{answer.truncated_by_budget} more left out by the token budget", DIM)
    if answer.abstain and answer.results and asked:
        yield paint(f"probably not the answer (probability of one {answer.answered:.2f})", YELLOW)
    elif explain and answer.results and asked:
        yield paint(f"probability that an answer is here: {answer.answered:.2f}", DIM)
    yield from lacks(answer.degraded_reasons)


def _shortened(memory: values.Memory) -> str:
    return f"{one_line(memory.shown)}; full text: mnemesh get{NODE_OPTIONS} {short_id(memory.id)}"


def _triggered(ids: Sequence[str]) -> Iterator[str]:
    if ids:
        yield paint(f"triggered; read with: mnemesh get{NODE_OPTIONS} {' '.join(map(short_id, ids))}", CYAN)


def related(answer: values.Neighbourhood) -> Iterator[str]:
    """The memories around a memory, each with its score and why it is here."""
    for near in answer.results:
        yield f"    {paint(f'{near.score:.2f}', GREEN)}  {paint(clip(one_line(near.title or near.snippet)), BOLD)}"
        yield paint(f"          {with_short_ids(one_line('; '.join(near.reasons)))}", DIM)
        yield "          " + _where(near.id, near.space, near.kind, ())
        yield from (paint(f"          {line}", YELLOW) for line in replaced(near))
    if not answer.results:
        yield "nothing has to do with it"
    yield from lacks(answer.degraded_reasons)


def remembered(done: values.Remembered) -> Iterator[str]:
    """The stored memory, the reason, and its neighbours."""
    yield from written(done)
    if done.memory.suspicious:
        yield paint(SUSPICIOUS, YELLOW)
    if done.restorable:
        yield paint(
            f"it was forgotten; bring it back with: mnemesh restore{NODE_OPTIONS} {short_id(done.memory.id)}", YELLOW
        )
    yield from _triggered(done.triggered)
    if (done.surprisal or 0.0) >= SURPRISING_BITS:
        yield paint(with_short_ids(one_line(done.novelty_reason)), DIM)
    yield from _near(done.related)
    if done.hint:
        yield paint(people_advice.after(done), YELLOW)
        if dismissal := people_advice.dismissal(done):
            yield paint(dismissal, YELLOW)


def bulk(
    done: values.Bulk,
    memories: Sequence[values.Memory],
    purge: bool,
    hint: str = "; --apply does it",
    *,
    idle: bool = False,
) -> Iterator[str]:
    """The effect of a call over many, done or planned (`hint`); `memories` tell what stands behind its ids. `idle`:
    some that were named may be forgotten already."""
    word = "purged" if purge else "forgotten"
    if done.dry_run:
        known = {memory.id: memory for memory in memories if memory.id in done.ids}
        left = done.matched - len(done.refused) if done.cursor else len(done.ids)
        first = f"the first {len(done.ids)} " if left > len(done.ids) else ""
        where = ", ".join(sorted({one_line(memory.space) for memory in known.values()}))
        # Later pages are judged later. After some refusals, more may follow.
        count = ("up to " if done.cursor and (idle or done.refused) else "") + count_of(left, "memory")
        yield f"{count} would be {word}{f', {first}in {where}' if where else ''}{hint if left else ''}"
        for id_ in done.ids:
            yield "  ".join((short_id(id_), *([place_and_title(known[id_])] if id_ in known else ())))
    else:
        yield f"{count_of(len(done.ids), 'memory')} {word}"
    kept = "would be left as it is" if done.dry_run else "left as it was"
    for refusal in done.refused:
        yield f"{kept}: {short_id(refusal.id)}: {with_short_ids(one_line(refusal.reason))}"
    if done.left_out:
        stay = "would stay" if done.dry_run else "stay"
        yield f"{done.left_out} forgotten or superseded besides {stay}; --state all names them too"
    yield from map(one_line, done.pending)
    yield from held(done)
    yield from kept_behind(done)


def held(gone: values.Bulk | values.Purged) -> Iterator[str]:
    """Where what was erased may still be."""
    for backup in gone.backups:
        yield f"may still be in {one_line(backup)}"
    for peer in gone.not_told:
        yield f"{one_line(peer)}: does not erase with this node, and keeps its copy of the memory, if any"


def kept_behind(gone: values.Bulk | values.Purged) -> Iterator[str]:
    """Lines about memories that stepped back for an erased one, and may hold the same text."""
    for id_ in gone.behind:
        yield paint(f"stepped back for it and stays, may hold the same text: mnemesh purge {id_}", YELLOW)


def written(done: values.Written) -> Iterator[str]:
    """Action, id and reason."""
    yield f"{paint(done.action, GREEN)}  {short_id(done.memory.id)}  {clip(title_of(done.memory))}"
    yield paint(f"{one_line(done.memory.space)}: {with_short_ids(one_line(done.reason))}", DIM)
    if done.memory.conflicts:
        others = count_of(len(done.memory.conflicts), "other version")
        yield paint(f"the conflict with {others} goes on; end it with one of:", YELLOW)
        yield from conflict_commands.ends_of(done.memory)


def superseded(done: values.Superseded) -> Iterator[str]:
    """The new memory and the superseded one, if any."""
    yield from written(done)
    if done.action == "SUPERSEDE":
        yield paint(f"closed {short_id(done.superseded.id)}  {clip(title_of(done.superseded))}", DIM)


def checked(done: values.Checked) -> Iterator[str]:
    """The effect that remember would have."""
    # The reason mostly names the target. Beside an addition there is only a neighbour.
    shown = done.target_id and done.action != "ADD" and done.target_id not in done.reason
    target = f"  {short_id(done.target_id)}" if shown else ""
    yield f"would {paint(done.action, GREEN)}{target}  {with_short_ids(one_line(done.reason))}"
    yield from _near(done.related)
    if done.hint:
        yield paint(people_advice.before(done), YELLOW)


def whole_memories(answer: values.Found) -> Iterator[str]:
    """Whole memories, one after the other."""
    for position, memory in enumerate(answer.memories):
        if position:
            yield ""
        yield from _whole(memory)
    for missing in answer.missing:
        yield paint(f"not found: {one_line(missing)}", YELLOW)


def listed(page: values.Page) -> Iterator[str]:
    """A line a memory."""
    for memory in page.memories:
        yield _line(memory)
    yield from end_of_page(len(page.memories), page.total, page.cursor, "no memories")
    yield from lacks(page.degraded_reasons)


def timeline(line: values.Timeline) -> Iterator[str]:
    """A line a memory, the one asked for marked."""
    for position, memory in enumerate(line.memories):
        yield (paint("> ", CYAN) if position == line.position else "  ") + _line(memory)


def counted(stats: values.Stats) -> Iterator[str]:
    """Totals, then the most frequent of each sort."""
    yield (
        f"{count_of(stats.memories, 'memory')}, {stats.forgotten} forgotten, "
        f"{stats.superseded} superseded, {stats.conflicted} in conflict"
    )
    for name, counts, total in (
        ("kinds", stats.kinds, len(stats.kinds)),
        ("spaces", stats.spaces, stats.spaces_total),
        ("agents", stats.agents, stats.agents_total),
        ("tags", stats.tags, stats.tags_total),
    ):
        if counts:
            shown = [f"{one_line(count.name)} {count.memories}" for count in counts[:COUNTS_SHOWN_MAX]]
            more = max(total, len(counts)) - len(shown)
            yield f"{name:<8}{', '.join(shown)}" + (f", and {more} more" if more else "")


def clip(text: str, chars: int = TITLE_CHARS) -> str:
    """`text` cut to what a terminal line holds beside the rest; whole when the output is no terminal."""
    if not sys.stdout.isatty():
        return text
    room = max(20, min(chars, shutil.get_terminal_size().columns - 24))
    return text if len(text) <= room else text[: room - 1] + "…"


def lacks(reasons: Iterable[str]) -> Iterator[str]:
    """A line for each part that an answer may lack."""
    return (paint(f"incomplete: {one_line(reason)}", YELLOW) for reason in reasons)


def end_of_page(shown: int, total: int, cursor: str, none: str) -> Iterator[str]:
    """How to see the next page, or that there is `none`."""
    if cursor:
        yield paint(f"{shown} of {total}; next page: --cursor {cursor}", DIM)
    elif not shown:
        yield none


def place_and_title(memory: values.Memory) -> str:
    """The place of a memory and its title on one line."""
    return f"{one_line(memory.space)}  {clip(one_line(memory.title or memory.content[:FIRST_CHARS]))}"


def title_of(memory: values.Memory) -> str:
    """Its title, else its first line."""
    return one_line(memory.title or memory.content[:200])


def _near(related: Iterable[values.Related]) -> Iterator[str]:
    for memory in islice(related, NEAR_SHOWN_MAX):
        yield paint(f"near {memory.similarity:.2f}  {short_id(memory.id)}  {clip(one_line(memory.title))}", DIM)


def _whole(memory: values.Memory) -> Iterator[str]:
    if memory.title:
        yield paint(one_line(memory.title), BOLD)
    yield _where(memory.id, memory.space, memory.kind, memory.tags, whole_id=True)
    facts = (
        ("state", memory.state if memory.state != "active" else ""),
        ("by", one_line(memory.by)),
        ("created", shown_time(memory.created_at)),
        ("updated", shown_time(memory.updated_at) if memory.updated_at != memory.created_at else ""),
        ("valid from", shown_time(memory.valid_from)),
        ("valid to", shown_time(memory.valid_to)),
        ("importance", "" if memory.importance is None else f"{memory.importance:g}"),
        ("tier", memory.tier if memory.tier != "normal" and not memory.anchor else ""),
        ("superseded by", short_id(memory.superseded_by)),
        ("paths", one_line(", ".join(memory.paths))),
        (
            "links",
            "" if memory.linked else one_line(", ".join(f"{link.type} {link.id}" for link in memory.links)),
        ),
        (
            "useful",
            f"{memory.useful} of {memory.useful + memory.not_useful}" if memory.useful + memory.not_useful else "",
        ),
        (
            "attrs",
            one_line(
                ", ".join(
                    f"{key}={value}" for key, value in memory.attrs.items() if not key.startswith(("anchor", "ref."))
                )
            ),
        ),
    )
    yield paint("  ".join(f"{name} {value}" for name, value in facts if value), DIM)
    yield from (paint(line, YELLOW) for line in note_lines(memory))
    yield ""
    yield printable(memory.content)
    if memory.linked or memory.linked_more:
        yield ""
        yield from (paint(line, CYAN) for line in people_links.ends(memory.linked, memory.linked_more))
    for note in memory.notes:
        yield paint(f"\nnote: {one_line(note)}", YELLOW)
    for head in memory.conflicts:
        yield paint(f"\nin conflict with {head.revision} by {one_line(head.by)}, {shown_time(head.at)}:", YELLOW)
        yield printable(conflict_commands.said(head, memory.content))
    if memory.conflicts:
        yield paint("\nend the conflict with one of:", YELLOW)
        yield from conflict_commands.ends_of(memory)


def _line(memory: values.Memory) -> str:
    marks = ", ".join(filter(None, (memory.state if memory.state != "active" else "", one_line(memory.shown))))
    state = paint(f" ({marks})", YELLOW) if marks else ""
    day = shown_time(memory.created_at)[:10]
    tags = paint("  " + " ".join(f"#{one_line(tag)}" for tag in memory.tags), DIM) if memory.tags else ""
    others = "".join(
        paint(f"\n{' ' * ID_CHARS}  in conflict with {head.revision[:ID_CHARS]}: ", YELLOW)
        + clip(_said_by(head, memory))
        for head in memory.conflicts
    )
    others += "".join(paint(f"\n{' ' * ID_CHARS}  {line}", YELLOW) for line in note_lines(memory))
    return f"{short_id(memory.id)}  {day}  {memory.kind:<11} {clip(title_of(memory))}{state}{tags}{others}"


def _said_by(head: values.Head, shown: values.Memory) -> str:
    """The beginning of another version's text, after its title when the shown one has another."""
    if title := head.title if head.title != shown.title else "":
        return one_line(f"{title}: {head.content[:200]}")
    return one_line(conflict_commands.said(head, shown.content)[:200])


def _where(id: str, space: str, kind: str, tags: Iterable[str], *, whole_id: bool = False, day: str = "") -> str:
    words = [id if whole_id else short_id(id), day, one_line(space), kind, *(f"#{one_line(tag)}" for tag in tags)]
    return paint("  ".join(filter(None, words)), DIM)


def shown_time(time: datetime | None) -> str:
    """`time` as --as-of and --since take it, with its zone: RFC 3339 in UTC."""
    return rfc3339(time) if time else ""


def paint(text: str, code: str) -> str:
    """`text` in a colour, on a terminal that wants them."""
    return f"\x1b[{code}m{text}\x1b[0m" if _coloured() else text


def _coloured() -> bool:
    # https://no-color.org
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def marked(passage: str, marks: Sequence[int]) -> str:
    """A passage with the words between its marks, which come in pairs, in bold where colours are wanted."""
    parts, here = [], 0
    for start, end in zip(marks[::2], marks[1::2], strict=True):
        parts += [printable(passage[here:start]), paint(printable(passage[start:end]), BOLD)]
        here = end
    return "".join((*parts, printable(passage[here:])))
