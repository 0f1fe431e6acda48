"""Commands on whole spaces look where recall does, and a refusal of the graph names an option."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from client_support import value

from mnemesh.api import values
from mnemesh.cli.commands import maps
from mnemesh.cli.report import advised
from mnemesh.errors import FailedPrecondition


class Asked:
    """A client that notes in which spaces it is asked."""

    def __init__(self, **who: Any) -> None:
        self.spaces: list[list[str] | None] = []
        self._who = value(values.Identity, private_space="@ana", **who)

    def whoami(self) -> values.Identity:
        return self._who

    def __getattr__(self, name: str) -> Any:
        return lambda *_, space, **__: self.spaces.append(space)


COMMANDS = (
    (maps.story, ()),
    (maps.gaps, ()),
    (maps.recall_hierarchical, ("deploys",)),
    (maps.drill_down, ("t1-3f0a92bd771c",)),
    (maps.navigate, ("deploys",)),
)


@pytest.mark.parametrize(("command", "words"), COMMANDS)
def test_a_look_at_whole_spaces_has_the_default_of_recall(command: Any, words: tuple[str, ...]) -> None:
    def looked(space: list[str] | None, **who: Any) -> list[str] | None:
        client = Asked(**who)
        shell: Any = SimpleNamespace(where="", ask=lambda call, lines: call(client))
        command(shell, *words, space=space)
        (asked,) = client.spaces
        return asked

    assert looked(None, default_space="team/shop") == ["team/shop", "@ana"]
    assert looked(["vault"], default_space="team/shop") == ["vault"]
    assert looked(None, default_space="@ana") is None, "no default space is set"
    renamed = {"default_space": "shop-2", "alias_space": "shop"}
    assert looked(None, **renamed, spaces=("shop*", "shop")) == ["shop-2", "@ana", "shop"]
    assert looked(None, **renamed, spaces=("shop-2",)) == ["shop-2", "@ana"]


def test_a_causal_chain_out_of_too_little_data_names_the_option_for_shorter_windows() -> None:
    error = FailedPrecondition("too little data: the events span 1 window of 24 h; 49 more are needed")
    assert advised(error, ["causal-chain", "x"]).endswith("49 more are needed (--window-hours N sets their length)")
