"""Small files in the formats of LongMemEval and BEAM, made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def _said(role: str, content: str, **more: bool) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def _asked(id_: str, kind: str, question: str, answer: str, sessions: dict[str, list[Any]]) -> dict[str, Any]:
    """A question about `sessions` by id. A session whose id begins with "answer" holds evidence."""
    return {
        "question_id": id_, "question_type": kind, "question": question, "answer": answer,
        "question_date": "2023/06/01 (Thu) 10:00", "haystack_dates": DATES[: len(sessions)],
        "haystack_session_ids": list(sessions), "haystack_sessions": list(sessions.values()),
        "answer_session_ids": [name for name in sessions if name.startswith("answer")],
    }  # fmt: skip


DATES = ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 12:00", "2023/05/22 (Mon) 18:30"]
TRAIN = [
    _said("user", "Which train goes to the sea?"),
    _said("assistant", "The one at nine."),
    _said("user", "I will take my bicycle on it."),
]
CAT = [
    _said("user", "Hello.", has_answer=False),
    _said("assistant", "Hello!"),
    _said("user", "The cat is called Miso.", has_answer=True),
]
SALMON = [_said("user", "My cat Miso eats only salmon.", has_answer=True)]
NINE = [_said("user", "Which train?"), _said("assistant", "At nine.", has_answer=True)]
LONGMEMEVAL = [
    _asked(
        "q1", "multi-session", "What is my cat called, and what does it eat?", "Miso eats salmon",
        {"s0": TRAIN, "answer_1": CAT, "answer_2": SALMON},
    ),
    _asked("q2", "single-session-assistant", "When did you say the train leaves?", "At nine", {"answer_3": NINE}),
    _asked("q3_abs", "single-session-user", "What is my dog called?", "No dog was mentioned", {}),
]  # fmt: skip
BEAM_CHAT: list[Any] = [
    {
        "batch_number": 1,
        "turns": [
            [
                {
                    "role": "user", "id": 0, "time_anchor": "March-15-2024", "index": "1,2",
                    "content": "The sprint ends on March 29. ->-> 1,2",
                },
                {"role": "assistant", "id": 1, "content": "Noted: two weeks of work."},
            ],
            [{"role": "user", "id": 2, "index": "1,3", "content": "Flask serves the login page now. ->-> 1,3"}],
        ],
    },
    {"batch_number": 2, "turns": [[{"role": "user", "id": 3, "content": "I have never used Flask."}]]},
]  # fmt: skip
BEAM_QUESTIONS: dict[str, Any] = {
    "abstention": [{"question": "Which car do I drive?", "rubric": ["nothing is known of it"]}],
    "contradiction_resolution": [
        {
            "question": "When does the sprint end, and did I ever use Flask?",
            "source_chat_ids": {"first_statement": [0], "second_statement": [3]},
        }
    ],
    "event_ordering": [{"question": "In which order did I speak of sprint and login?", "source_chat_ids": [0, 2, 2]}],
}


def write_longmemeval(folder: Path) -> Path:
    """The file of three questions: with evidence, with evidence in no user turn, and without an answer."""
    path = folder / "longmemeval_small.json"
    path.write_text(json.dumps(LONGMEMEVAL), "utf-8")
    return path


def write_beam(folder: Path, chat: Any, questions: Any) -> Path:
    """A conversation as a folder below `folder`; its path."""
    conversation = folder / "100K" / "1"
    (conversation / "probing_questions").mkdir(parents=True)
    (conversation / "chat.json").write_text(json.dumps(chat), "utf-8")
    (conversation / "probing_questions" / "probing_questions.json").write_text(json.dumps(questions), "utf-8")
    return conversation
