"""Recall by words and by both in languages that the encoder and the model know little of, over a real mesh."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from mnemesh_actors.models import ModelConfig
from mnemesh_actors.node.mesh import Mesh
from mnemesh_actors.node.start import StartConfig, start_mesh
from mnemesh_actors.node_ports import MeshConfig
from mnemesh_actors.runtime.local import LocalRuntime
from mnemesh_actors.storage.data_directory import open_directory
from mnemesh_memory.ranking.answers import Recalled
from mnemesh_memory.values.errors import Unavailable
from mnemesh_memory.values.model import Caller, Draft, Query

pytestmark = pytest.mark.asyncio(loop_scope="module")

READER = Caller("owner/reader", "owner")
SPACE = "test/languages"
TIMEOUT_S = 20.0
MEMORIES = {
    "payment_zh": "支付服务每天凌晨三点重启",
    "backup_zh": "数据库备份保存在仓库里三十天",
    "room_ja": "会議室は三階の奥にあります",
    "invoice_ja": "請求の締め日は毎月二十日です",
    "qdrant_ja": "Qdrantの設定をAPIで変えるには再起動が要る",
    "payment_th": "การชำระเงินล้มเหลวเมื่อวานนี้",
    "server_th": "เซิร์ฟเวอร์ตั้งอยู่ที่เชียงใหม่",
    "payment_ko": "결제 서비스를 매일 새벽에 재시작한다",
    "backup_ko": "백업은 삼십 일 동안 보관한다",
    "sums_de": "Prüfsummen schreibt der Nachtexport ins Archiv, bevor das Café öffnet",
    "sums_fr": "La clé de chiffrement est renouvelée chaque été",
    "party": "Release 2.14 is out 🎉",
    "rocket": "The launch page went live 🚀",
    "rota": "The on-call rota moves to Mondays",
}
ASKED = {
    "支付": "payment_zh",
    "备份保存多少天": "backup_zh",
    "会議室はどこ": "room_ja",
    "請求の締め日はいつ": "invoice_ja",
    "qdrant 再起動": "qdrant_ja",
    "ชำระเงิน": "payment_th",
    "เชียงใหม่": "server_th",
    "서비스 재시작": "payment_ko",
    "백업": "backup_ko",
    "prufsummen cafe": "sums_de",
    "cle de chiffrement": "sums_fr",
    "🎉": "party",
    "🚀🚀": "rocket",
    "on-call rota": "rota",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def mesh(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Mesh]:
    ticks = itertools.count(1_700_000_000_000)
    made = await start_mesh(
        open_directory(tmp_path_factory.mktemp("languages")),
        LocalRuntime(),
        StartConfig(
            clock=lambda: next(ticks),
            entropy=secrets.token_bytes,
            model=ModelConfig(),
            mesh=MeshConfig(recall_timeout_s=TIMEOUT_S),
        ),
    )
    for content in MEMORIES.values():
        await made.remember(READER, Draft(content=content, space=SPACE))
    yield made
    await made.close()


async def recall(mesh: Mesh, text: str, mode: str) -> Recalled:
    return await mesh.recall(READER, Query(text=text, spaces=(SPACE,), mode=mode))


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize("question", ASKED)
async def test_the_memory_that_holds_the_words_comes_first(mesh: Mesh, question: str, mode: str) -> None:
    answer = await recall(mesh, question, mode)
    assert answer.results[0].memory.content == MEMORIES[ASKED[question]]
    assert not answer.abstain


@pytest.mark.parametrize(
    ("text", "mode", "told"),
    [
        ("🦖", "hybrid", "nothing that passes the filters holds one"),
        ("x" * 10_000, "hybrid", "nothing that passes the filters holds one"),
        ("😀😀", "semantic", "mode keyword and hybrid look for the words themselves"),
    ],
)
async def test_of_a_question_that_the_model_can_not_read_nothing_is_made_up(
    mesh: Mesh, text: str, mode: str, told: str
) -> None:
    answer = await recall(mesh, text, mode)
    assert (answer.results, answer.abstain, answer.degraded) == ((), True, ())
    (note,) = answer.notes
    assert note.startswith("query: the embedding model knows no word of")
    assert note.endswith(told)


@pytest.mark.parametrize("question", ASKED)
async def test_without_an_index_the_same_memory_comes_first(
    mesh: Mesh, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(*_: object) -> None:
        raise Unavailable("the index is down", part="index")

    monkeypatch.setattr(mesh._recalling._searching, "ask", down)  # type: ignore[attr-defined]
    answer = await recall(mesh, question, "keyword")
    assert answer.degraded
    assert answer.results[0].memory.content == MEMORIES[ASKED[question]]
