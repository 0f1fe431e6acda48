"""`mnemesh rule`: memories that count more, less or not at all in recall."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final

from mnemesh.api import values
from mnemesh.cli.given import given
from mnemesh.cli.options import Id, PageOptions, Space, Text, argument, asks, option
from mnemesh.cli.people.memories import BOLD, DIM, clip, end_of_page, paint
from mnemesh.cli.shell import Shell, one_line
from mnemesh.short_id import short_id

HELP: Final = "Add, list and remove rules of recall: memories that count more, less or not at all."


@asks("AddRuleRequest")
def add(
    shell: Shell,
    condition: str,
    effect: str,
    reason: Annotated[Text, argument("AddRuleRequest.reason", "REASON")] = None,
    directory: Text = None,
    file: Annotated[Text, option("AddRuleRequest.file", "--file", metavar="GLOB")] = None,
    space: Space = None,
) -> None:
    """Store a rule, such as: mnemesh rule add "kind = run and tag != keep" hide."""
    fields = given(space=space, reason=reason, directory=directory, file=file)
    shell.ask(lambda client: client.add_rule(condition, effect, **fields), _added)


@asks("GetRulesRequest")
def list_rules(shell: Shell, page: PageOptions) -> None:
    """List rules, newest first; those of the node's settings come first."""
    shell.ask(lambda client: client.get_rules(**page.fields()), _listed)


def remove(shell: Shell, id: Id, space: Space = None) -> None:
    """End a rule. Its memory is forgotten."""
    shell.ask(lambda client: client.delete_rule(id), _removed, space)


def _added(done: values.AddedRule) -> Iterator[str]:
    yield from _shown(done.rule)


def _listed(page: values.Rules) -> Iterator[str]:
    for rule in page.rules:
        yield from _shown(rule)
    yield from end_of_page(
        len(page.rules), page.total, page.cursor, 'no rules; `mnemesh rule add "kind = run" hide` adds one'
    )


def _removed(done: values.DeletedRule) -> Iterator[str]:
    yield from _shown(done.rule)
    yield "no rule any more; its text is forgotten"


def _shown(rule: values.Rule) -> Iterator[str]:
    scope = [f"{name} {one_line(place)}" for name, place in (("in", rule.directory), ("about", rule.file)) if place]
    where = one_line(rule.space) if rule.id else "the node's settings"
    yield "  ".join(
        (paint(short_id(rule.id) or "-", BOLD), one_line(rule.condition), one_line(rule.effect), *scope, where)
    )
    if rule.revoked:
        yield paint("    does not count: the token of its writer is revoked", DIM)
    if rule.content:
        yield f"    {clip(one_line(rule.content))}"


COMMANDS: Final = (("add", add), ("list", list_rules), ("remove", remove))
