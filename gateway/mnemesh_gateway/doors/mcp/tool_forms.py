"""Tools that are an operation under a name that agents look for: some of its fields are set, and few are shown. Pure.

A form has the grants, limits and answers of its operation. All forms are in the toolset `session`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mnemesh_memory.values.errors import InvalidArgument


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolForm:
    """A form of the operation `of`. `shown` are fields of the operation. `fixed` fields are set by the form. Each of
    `attrs` is an argument of the form that becomes an attribute of the memory."""

    name: str
    of: str
    title: str
    description: str
    shown: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    # Names of arguments with their help.
    attrs: Mapping[str, str] = field(default_factory=dict)

    def fields(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The fields for the operation. Raises InvalidArgument for one that the form sets."""
        for name in self.fixed:
            if name in arguments:
                raise InvalidArgument(name, arguments[name], f"no argument: {self.name} sets it")
        fields = {name: value for name, value in arguments.items() if name not in self.attrs}
        attrs = {name: arguments[name] for name in self.attrs if arguments.get(name) not in (None, "")}
        return {**fields, **self.fixed} | ({"attrs": attrs} if attrs else {})


FORMS: Final = (
    ToolForm(
        name="preferences", of="list", title="Preferences",
        description="List what people prefer, the newest first. Use it before you choose a style or a tool for them.",
        shown="spaces limit cursor", fixed={"kinds": ["preference"]},
    ),
    ToolForm(
        name="save_prompt", of="remember", title="Save a prompt",
        description="Store a prompt or runbook under its title. Use it for steps that somebody will want again. What a "
        "person stores becomes a prompt of the host, too.",
        shown="title content space tags", fixed={"kind": "prompt"},
    ),
    ToolForm(
        name="get_prompt", of="get", title="Get a prompt",
        description="Read prompts by title or id. Use it before you do what a saved prompt describes.",
        shown="ids",
    ),
    ToolForm(
        name="save_requirement", of="remember", title="Save a requirement",
        description="Store what has to be done or to hold. It is open until `settle` says otherwise.",
        shown="content title space", fixed={"kind": "requirement"},
    ),
    ToolForm(
        name="promote_requirement", of="update", title="Promote a requirement",
        description="Make a prompt of a requirement, under a title. Use it when a wish has become a way of working.",
        shown="id title", fixed={"kind": "prompt"},
    ),
    ToolForm(
        name="log_run", of="record_run", title="Log a run",
        description="Store what a session was, as `record_run` does, with the saved prompt that it followed.",
        shown="session prompts prompt_id files errors outcome status model tokens_in tokens_out cost_usd space",
    ),
    ToolForm(
        name="log_error", of="remember", title="Log an error",
        description="Store an error with its type and stack. Use it for one that took time to understand.",
        shown="content title space paths", fixed={"kind": "error"},
        attrs={"type": "Such as KeyError.", "stack": "The lines of the trace that matter, at most 1,024 bytes."},
    ),
)  # fmt: skip
