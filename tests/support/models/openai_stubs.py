"""Stand-ins for the two APIs of a model that OpenAI made common: responses, which Codex asks, and chat completions."""

from __future__ import annotations

import json

from agent_model_stub import AgentModelStub, Json, events, text_of

WORD = "done"


class ResponsesStub(AgentModelStub):
    """Serves the responses API below `/v1`. A tool of a namespace is named `NAMESPACE.NAME`."""

    def answer(self, path: str, body: Json, streams: bool) -> bytes:
        self.requests.append(body)
        number, call = self.next_call(body)
        item: Json
        if call is None:
            said = {"type": "output_text", "text": WORD, "annotations": []}
            item = {"type": "message", "role": "assistant", "id": f"msg_{number}", "content": [said]}
        else:
            namespace, _, name = call[0].rpartition(".")
            item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": name}
            item |= {"arguments": json.dumps(call[1])} | ({"namespace": namespace} if namespace else {})
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        response = {"id": f"resp_{len(self.requests)}", "object": "response", "output": [item], "usage": usage}
        if not streams:
            return json.dumps(response | {"status": "completed"}).encode()
        return events(
            (
                {"type": "response.created", "response": {**response, "output": []}},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": response | {"status": "completed"}},
            )
        )

    @staticmethod
    def results_of(request: Json) -> list[str]:
        return [text_of(item["output"]) for item in request["input"] if item.get("type") == "function_call_output"]


class CompletionsStub(AgentModelStub):
    """Serves chat completions below `/v1`."""

    def answer(self, path: str, body: Json, streams: bool) -> bytes:
        self.requests.append(body)
        number, call = self.next_call(body)
        said: Json = {"role": "assistant", "content": WORD}
        if call is not None:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            wanted = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
            said = {"role": "assistant", "content": None, "tool_calls": [wanted]}
        ending = "stop" if call is None else "tool_calls"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        head = {"id": f"chat_{len(self.requests)}", "created": 0, "model": body.get("model", "")}
        if not streams:
            choice = {"index": 0, "message": said, "finish_reason": ending}
            return json.dumps(head | {"object": "chat.completion", "choices": [choice], "usage": usage}).encode()
        head["object"] = "chat.completion.chunk"
        chunks: tuple[Json, ...] = (
            {"choices": [{"index": 0, "delta": said, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": ending}], "usage": usage},
        )
        return "".join(f"data: {json.dumps(head | chunk)}\n\n" for chunk in chunks).encode() + b"data: [DONE]\n\n"

    @staticmethod
    def results_of(request: Json) -> list[str]:
        return [text_of(message["content"]) for message in request["messages"] if message.get("role") == "tool"]
