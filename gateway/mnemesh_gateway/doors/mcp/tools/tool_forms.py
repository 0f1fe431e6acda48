"""Tools that are an operation under a name that agents look for: some of its fields are set, and few are shown. Pure.

A form has the grants, limits and answers of its operation. All forms are in the toolset `session`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mnemesh_gateway.contract.message_json import require_known
from mnemesh_memory.values import limits
from mnemesh_memory.values.errors import InvalidArgument

LEFT_OUT: Final = "\n[...]\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolForm:
    """A form of the operation `of`. `shown` are fields of the operation, and nothing else is taken. `fixed` fields are
    set by the form. Each of `attrs` is an argument of the form that becomes an attribute of the memory."""

    name: str
    of: str
    title: str
    description: str
    shown: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    # Names of arguments with their help.
    attrs: Mapping[str, str] = field(default_factory=dict)
    # Arguments that the form requires and the operation does not.
    required: str = ""
    # The kind of the memories that the form reads or changes. A title means the latest memory of that kind.
    kind: str = ""
    # Whether a memory of the same kind and title in the space gets a revision, in place of a second one beside it.
    revises: bool = False

    def fields(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The fields for the operation. Raises InvalidArgument for one that the form sets, requires or does not
        have."""
        taken = (*self.shown.split(), *self.attrs)
        for name, value in arguments.items():
            if name in self.fixed:
                raise InvalidArgument(name, value, f"no argument: {self.name} sets it")
            require_known(name, value, taken)
        for name in self.required.split():
            value = arguments.get(name)
            if value is None or (isinstance(value, str) and not value.strip()):
                raise InvalidArgument(name, "nothing", f"{self.name} needs it", missing=True)
        fields = {name: value for name, value in arguments.items() if name not in self.attrs}
        attrs = {name: _fitting(arguments[name]) for name in self.attrs if arguments.get(name) not in (None, "")}
        return {**fields, **self.fixed} | ({"attrs": attrs} if attrs else {})


def _fitting(value: Any) -> Any:
    """The value of an attribute, without the middle of one that is too long: a trace begins and ends with its cause."""
    if not isinstance(value, str) or len(value.encode()) <= limits.ATTR_VALUE_BYTES_MAX:
        return value
    room = (limits.ATTR_VALUE_BYTES_MAX - len(LEFT_OUT.encode())) // 2
    data = value.encode()
    return data[:room].decode(errors="ignore") + LEFT_OUT + data[-room:].decode(errors="ignore")


FORMS: Final = (
    ToolForm(
        name="preferences", of="list", title="Preferences",
        description="List what people prefer, the newest first. Use it before you choose a style or a tool for them.",
        shown="spaces limit cursor", fixed={"kinds": ["preference"]},
    ),
    ToolForm(
        name="save_prompt", of="remember", title="Save a prompt",
        description="Store a prompt or runbook under its title, the same title again as its next revision. Use it for "
        "steps that somebody will want again. A prompt by a person becomes a prompt of the host, too.",
        # A title tells prompts apart, so a text that another memory has is stored as well.
        shown="title content space tags", fixed={"kind": "prompt", "force": True}, required="title", revises=True,
    ),
    ToolForm(
        name="get_prompt", of="get", title="Get a prompt",
        description="Read prompts by title or id, of one title the latest. Use it before you do what a saved prompt "
        "describes.",
        shown="ids spaces", kind="prompt",
    ),
    ToolForm(
        name="save_requirement", of="remember", title="Save a requirement",
        description="Store what has to be done or to hold. It is open until `settle` says otherwise.",
        shown="content title space", fixed={"kind": "requirement"},
    ),
    ToolForm(
        name="promote_requirement", of="update", title="Promote a requirement",
        description="Make a prompt of a requirement, under a title. Use it when a wish has become a way of working.",
        shown="id title", fixed={"kind": "prompt"}, required="title", kind="requirement",
    ),
    ToolForm(
        name="log_run", of="record_run", title="Log a run",
        description="Store the record of a session, as `record_run` does, with the saved prompt behind it.",
        shown="session prompts prompt_id files errors outcome status model tokens_in tokens_out cost_usd space",
    ),
    ToolForm(
        name="log_error", of="remember", title="Log an error",
        description="Store an error with its type and stack. Use it, not `remember`, for errors that took time to "
        "understand.",
        shown="content title space paths", fixed={"kind": "error"},
        attrs={
            "type": "Such as KeyError.",
            "stack": "The lines of the trace that matter. Beyond 1,024 bytes its middle is left out.",
        },
    ),
)  # fmt: skip
