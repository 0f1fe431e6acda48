"""A stand-in for the messages API of a model, which Claude Code asks."""

from __future__ import annotations

import json

from agent_model_stub import AgentModelStub, Call, Json, events, text_of


class MessagesStub(AgentModelStub):
    """Serves the messages API."""

    def answer(self, path: str, body: Json, streams: bool) -> bytes:
        if "count_tokens" in path:
            return b'{"input_tokens": 1}'
        self.requests.append(body)
        done, call = self.next_call(body)
        block, delta = _block(done, call)
        message = {
            "id": f"msg_{len(self.requests)}", "type": "message", "role": "assistant", "model": body.get("model", ""),
            "content": [], "stop_reason": None, "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        if not streams:
            return json.dumps(
                message | {"content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn"}
            ).encode()
        ended = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
        sent: list[Json] = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 2}},
            {"type": "message_stop"},
        ]
        return events(sent)

    @staticmethod
    def results_of(request: Json) -> list[str]:
        contents = [message["content"] for message in request["messages"] if isinstance(message["content"], list)]
        blocks = [block for content in contents for block in content if block.get("type") == "tool_result"]
        return [text_of(block["content"]) for block in blocks]


def _block(number: int, call: Call | None) -> tuple[Json, Json]:
    if call is None:
        return {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}
    name, given = call
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
    return block, {"type": "input_json_delta", "partial_json": json.dumps(given)}
