"""Measures of quality, speed and growth, and learned weights."""

from __future__ import annotations

import json
import math
import mmap
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench import __main__ as bench
from bench import ablation, latency
from bench.compared.plain import LENGTH_B, SATURATION_K, PlainSearch
from bench.growth import anonymous_bytes
from bench.recall import beam, columns, fitting, longmemeval
from bench.recall.columns import EMBEDDED, Pools, Questions, Weights, stacked, values_of
from bench.recall.ranking import found_at
from bench.report import machine, means
from bench.speed.whole_node import SPACE
from bench.texts.documents import BadFile
from bench.texts.locomo_data import auroc
from quality_files import BEAM_CHAT, BEAM_QUESTIONS, write_beam, write_longmemeval

from mnemesh_memory.ranking.candidates import Candidate, Candidates, Context
from mnemesh_memory.ranking.fusion import fuse
from mnemesh_memory.ranking.signals import DEFAULT_MIX, SIGNALS
from mnemesh_memory.text.traits import Traits, question_of

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "bench" / "results"
THIRD = 1 / math.log2(3)  # what the third place gains


def test_any_and_all_and_the_share_count_what_is_among_the_first_k() -> None:
    ranked = ["x", "a", "y", "b"]
    assert found_at(ranked, {"a", "b", "c"}, 1)[:3] == (0, 0, 0)
    assert found_at(ranked, {"a", "b", "c"}, 2)[:3] == pytest.approx((1, 0, 1 / 3))
    assert found_at(ranked, {"a", "b", "c"}, 10)[:3] == pytest.approx((1, 0, 2 / 3))
    assert found_at(ranked, {"a", "b"}, 4)[:3] == (1, 1, 1)


def test_ndcg_discounts_from_the_third_place_on_against_the_best_order_of_the_whole_corpus() -> None:
    assert found_at(["a", "x", "y"], {"a"}, 3).ndcg == 1
    assert found_at(["x", "a", "y"], {"a"}, 3).ndcg == 1
    assert found_at(["x", "y", "a"], {"a"}, 3).ndcg == pytest.approx(THIRD)
    assert found_at(["x", "y", "a"], {"a"}, 2).ndcg == 0
    assert found_at(["x", "a", "b"], {"a", "b"}, 3).ndcg == pytest.approx((1 + THIRD) / 2)
    assert found_at(["a"], {"a", "b", "c"}, 5).ndcg == pytest.approx(1 / (2 + THIRD))
    assert found_at(["a", "x"], {"a", "b", "c"}, 1).ndcg == 1


def test_a_question_without_evidence_has_no_score() -> None:
    with pytest.raises(ValueError, match="without evidence"):
        found_at(["a"], (), 5)


def test_auroc_is_the_share_of_pairs_that_stand_the_right_way_round() -> None:
    assert auroc([0.9, 0.8], [0.1, 0.2]) == 1
    assert auroc([0.5], [0.5]) == 0.5
    assert auroc([0.9, 0.3], [0.4, 0.3]) == pytest.approx((2 + 0.5) / 4)


def test_means_are_of_every_kind_and_of_all_questions() -> None:
    table = means({"b": [{"x": 1.0}], "a": [{"x": 0.0}, {"x": 0.5}], "none": []})
    assert table == {"a": {"n": 2, "x": 0.25}, "b": {"n": 1, "x": 1.0}, "all": {"n": 3, "x": 0.5}}


def test_a_file_of_longmemeval_is_read_with_its_dates_and_evidence(tmp_path: Path) -> None:
    first, assistant, absent = longmemeval.load(write_longmemeval(tmp_path))
    assert (first.id, first.kind, first.abstains) == ("q1", "multi-session", False)
    assert [(one.id, one.evidence) for one in first.sessions] == [("s0", False), ("answer_1", True), ("answer_2", True)]
    assert first.sessions[0].when == datetime(2023, 5, 20, 2, 21, tzinfo=UTC)
    assert [turn.evidence for turn in first.sessions[1].turns] == [False, False, True]
    assert absent.abstains
    assert longmemeval.corpus_of(assistant, "turn").wanted == frozenset()


def test_turns_of_the_user_are_stored_and_sessions_are_what_the_user_said_in_them(tmp_path: Path) -> None:
    first = longmemeval.load(write_longmemeval(tmp_path))[0]
    turns = longmemeval.corpus_of(first, "turn")
    assert [one.id for one in turns.documents] == ["s0_1", "s0_3", "answer_1_1", "answer_1_3", "answer_2_1"]
    assert turns.wanted == {"answer_1_3", "answer_2_1"}
    sessions = longmemeval.corpus_of(first, "session")
    assert [(one.id, one.text) for one in sessions.documents][1] == ("answer_1", "Hello. The cat is called Miso.")
    assert sessions.wanted == {"answer_1", "answer_2"}


def test_scores_of_turns_and_of_the_sessions_that_they_stand_for() -> None:
    first = longmemeval.Entry("q", "k", "?", tuple(
        longmemeval.Session(id_, datetime(2023, 1, 1, tzinfo=UTC), id_ != "s", tuple(
            longmemeval.Turn("user", "said", evidence) for evidence in turns
        ))
        for id_, turns in (("s", (False, False)), ("t", (True, False)), ("u", (True, True)))
    ))  # fmt: skip
    corpus = longmemeval.corpus_of(first, "turn")
    assert corpus.wanted == {"t_1", "u_1", "u_2"}
    found = longmemeval.scores(["t_2", "u_1", "s_1", "u_2", "t_1"], corpus, "turn")
    assert (found["turn recall_any@1"], found["turn recall_any@5"], found["turn recall_all@5"]) == (0, 1, 1)
    ideal = 2 + THIRD
    assert found["turn ndcg_any@5"] == pytest.approx((1 + 1 / 2 + 1 / math.log2(5)) / ideal)
    # The other turn of t is a session of its own, so five places hold four sessions.
    assert found["session recall_any@1"] == 0
    assert found["session recall_all@5"] == 1
    assert found["session ndcg_any@5"] == pytest.approx((1 + 1 / 2 + 1 / math.log2(5)) / ideal)
    by_session = longmemeval.corpus_of(first, "session")
    assert longmemeval.scores(["s", "t"], by_session, "session")["session recall_all@5"] == 0
    assert longmemeval.scores(["s", "t", "u"], by_session, "session")["session ndcg_any@5"] == pytest.approx(
        (1 + THIRD) / 2
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [("[1, 2", "no JSON"), ("{}", "a list is wanted, not {}"), ("[{}]", "entry 0: question_id is missing")],
)
def test_a_malformed_file_of_longmemeval_is_refused_with_the_place_and_the_fault(
    tmp_path: Path, content: str, said: str
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content, "utf-8")
    with pytest.raises(BadFile, match=said):
        longmemeval.load(path)


def test_a_conversation_of_beam_is_read_without_the_marks_of_its_plan(tmp_path: Path) -> None:
    (conversation,) = beam.load(write_beam(tmp_path, BEAM_CHAT, BEAM_QUESTIONS))
    assert [(one.id, one.session, one.seq) for one in conversation.messages] == [
        ("0", "batch-0", 0), ("1", "batch-0", 1), ("2", "batch-0", 2), ("3", "batch-1", 3),
    ]  # fmt: skip
    assert conversation.messages[0].text == "The sprint ends on March 29."
    assert conversation.messages[2].when == datetime(2024, 3, 15, tzinfo=UTC)
    assert conversation.messages[3].when is None
    wanted = {probe.ability: probe.wanted for probe in conversation.probes}
    assert wanted == {"abstention": frozenset(), "contradiction_resolution": {"0", "3"}, "event_ordering": {"0", "2"}}


def test_scores_of_beam_are_any_all_and_the_share_of_the_sources() -> None:
    found = beam.scores(["1", "2", "3", "4", "5", "0"], frozenset({"0", "2"}))
    assert (found["any@5"], found["all@5"], found["share@5"]) == (1, 0, 0.5)
    assert (found["any@10"], found["all@10"], found["share@10"]) == (1, 1, 1)


def test_every_signal_is_left_out_once_and_two_variants_leave_one_kind_of_evidence() -> None:
    table = ablation.variants()
    assert table["nothing"] == ablation.Variant(DEFAULT_MIX, {}, {})
    assert set(SIGNALS) < set(table)
    pool = Candidates.of([Candidate("by meaning", 0.9, 1.0), Candidate("by words", 0.2, 9.0)])
    assert [ablation.fused(pool, "?", table[name])[0].id for name in ("all but BM25", "all but dense")] == [
        "by words", "by meaning",
    ]  # fmt: skip


def test_the_page_compares_the_misses_of_its_tables_with_those_of_a_node_as_they_were_measured() -> None:
    def missed_by(node: dict[str, Any]) -> int:
        return round(node["n"] * (1 - node["hit@10"]))

    here, rows = (json.loads((RESULTS / f"{name}.json").read_text("utf-8")) for name in ("misses", "locomo"))
    turns, pairs = (here[unit]["rows"]["all"]["missed"] for unit in ("turn", "pair"))
    by_turns, by_pairs = (missed_by(rows["alone"]["rows"][unit]) for unit in ("turn", "pair"))
    page = " ".join((ROOT / "docs" / "recall.md").read_text("utf-8").split())
    assert f"in turns ({by_turns} missed, not {turns}) and" in page
    assert f"in pairs ({by_pairs}, not {pairs})" in page
    assert (turns - by_turns, pairs - by_pairs) == (7, 6), "the page says these in words"


# ---- fitting ---------------------------------------------------------------------------------------------------------
# Learned weights: the conversations they come from, the search for them, and scores from columns of numbers as in
# recall.


SEED = 20
NAMES = ["one", "two", "three", "four", "five"]
QUESTION = "When did Ana buy the boat in March?"


def test_what_is_learned_for_a_conversation_was_learned_from_every_other_one_and_never_from_it() -> None:
    seen = dict(fitting.left_out(NAMES, frozenset))
    assert seen == {name: frozenset(NAMES) - {name} for name in NAMES}


def test_a_fold_never_looks_at_its_own_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    learned_from = []

    def learned(asked: list[Questions], names: list[str]) -> fitting.Fit:
        learned_from.append((len(asked), sorted({talk for one in asked for talk in one.talk.tolist()})))
        return fitting.Fit(columns.default_weights(), 0.3)

    monkeypatch.setattr(fitting, "learned", learned)
    asked = questions(np.random.default_rng(SEED), talks=3)
    _, folds = fitting.measured({"turn": asked, "pair": asked})
    assert learned_from[0] == (2, ["0", "1", "2"])  # a variant with a view of them all says so in its name
    others = [["0", "1"], ["0", "2"], ["1", "2"]]
    assert sorted(names for _, names in learned_from[1:]) == [names for names in others for _ in range(2)]
    assert [name for name in folds if not name.startswith("held out")] == ["learned on all"]


def test_the_threshold_flags_no_more_than_its_share_of_what_it_is_learned_from() -> None:
    assert fitting.threshold(np.linspace(0.005, 0.995, 100)) == 0.05
    assert fitting.threshold(np.ones(7)) == 0.99


def test_columns_are_ranked_as_fuse_ranks_the_candidates() -> None:
    chance = np.random.default_rng(SEED)
    for _ in range(20):
        pool = candidates(chance)
        part_of = {name: row.part for name, row in SIGNALS.items()}
        drawn = fitting.legal({fitting.SHARE: 0.66, **{name: chance.random() for name in part_of}})
        mix = {name: drawn[name] for name in part_of}
        row = shown(pool), values_of(pool, QUESTION, np.zeros((len(pool), len(EMBEDDED)))), np.zeros(len(pool))
        scores = stacked([row]).scores(fitting.weights_of(drawn))[0]
        wanted = fuse(pool, {"dense": 0.66, "bm25": 0.34}, question_of(QUESTION), mix)
        found = {id_: score for id_, score in zip(pool.ids, scores, strict=True) if score >= 0}
        assert found == pytest.approx({item.id: item.score for item in wanted}, abs=2e-6)
    assert columns.default_weights() != Weights(0.5, {})
    assert columns.default_weights().of == DEFAULT_MIX


def test_figures_count_evidence_among_the_first_ten_and_equal_scores_by_id() -> None:
    scores = np.zeros((2, 30))
    scores[0, 12] = 0.5  # the first question's evidence leads; the second's stands among equals
    right = np.zeros((2, 30), np.bool_)
    right[0, [12, 29]] = True
    right[1, 3] = True
    values = np.zeros((len(columns.parts()), 2, 30), np.float32)
    values[0] = scores
    pools = Pools(np.ones((2, 30), np.bool_), values, scores)
    asked = Questions(
        talk=np.array(["a", "b"]), multi_hop=np.array([True, False]), pieces=np.array([4.0, 1.0]), right=right,
        session=right, here=pools, elsewhere=pools,
    )  # fmt: skip
    found = asked.figures(Weights(1.0, {"meaning": 1.0}))
    assert found["hit@10"].tolist() == [1, 1]
    assert found["coverage@10"].tolist() == [0.25, 1]
    assert found["MRR"].tolist() == [1, 0.25]
    assert found["multi-hop coverage@10"].tolist() == pytest.approx([0.25, np.nan], nan_ok=True)
    assert found["session hit@1"].tolist() == [1, 0]
    assert pools.coverage(Weights(1.0, {"meaning": 1.0})).tolist() == [0.5, 0]


def questions(chance: np.random.Generator, talks: int, of_each: int = 6, places: int = 25) -> Questions:
    """Questions with one piece of evidence among candidates of chance values."""
    number = talks * of_each
    right = np.zeros((number, places), np.bool_)
    right[np.arange(number), chance.integers(0, places, number)] = True
    pools = [
        Pools(
            np.ones((number, places), np.bool_),
            chance.random((len(columns.parts()), number, places), np.float32),
            chance.random((number, places)),
        )
        for _ in range(2)
    ]
    return Questions(
        talk=np.repeat([str(one) for one in range(talks)], of_each),
        multi_hop=np.arange(number) % 2 == 0,
        pieces=np.ones(number),
        right=right,
        session=right,
        here=pools[0],
        elsewhere=pools[1],
    )


def candidates(chance: np.random.Generator, number: int = 30) -> Candidates:
    """Candidates of both lists, of one and of none but a window, some in sessions, some with traits."""
    rows = []
    for at in range(number):
        in_session, listed = chance.random() < 0.7, chance.random()
        context = (
            Context(*(chance.random(4) * (9, 1, 1, 9)).tolist(), float(chance.random() < 0.2)) if in_session else None
        )
        rows.append(
            Candidate(
                f"{at:03}",
                dense=float(chance.uniform(-0.2, 1)) if listed < 0.8 else None,
                bm25=float(chance.uniform(0, 9)) if listed > 0.3 else None,
                context=context,
                traits=Traits(0, int(chance.integers(0, 25)), int(chance.integers(0, 3)), ())
                if chance.random() < 0.9
                else None,
            )
        )
    return Candidates.of(rows)


def shown(pool: Candidates) -> columns.Mask:
    found = np.zeros(len(pool), np.bool_)
    found[fuse(pool).places] = True
    return found


# ---- speed -----------------------------------------------------------------------------------------------------------


TEXTS = ["red apples and pears", "the port is 5433", "green apples", "a note about nothing"]
VECTORS = np.eye(4, dtype=np.float32)


def test_the_words_are_scored_by_bm25s_with_the_parameters_of_the_index() -> None:
    plain = PlainSearch(TEXTS, VECTORS)
    lengths = [len(text.split()) for text in TEXTS]
    norm = SATURATION_K * (1 - LENGTH_B + LENGTH_B * lengths[1] / (sum(lengths) / 4))
    scores = plain._words.get_scores(["port"])
    assert scores == pytest.approx([0, math.log(1 + 3.5 / 1.5) / (1 + norm), 0, 0], rel=1e-5)


def test_the_program_takes_the_command_of_the_page_of_benchmarks() -> None:
    command = (ROOT / "docs/benchmarks.md").read_text().split("make bench ARGS='")[1].split("'")[0]
    given = bench._arguments(command.split())
    assert given.scale
    assert (given.mem0, given.corpus, given.locomo) == ("FOLDER", Path("TEXTS"), ["HARNESS", "DATA"])


def git(tree: Path, *words: str) -> str:
    own = ("-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "commit.gpgsign=false")
    done = subprocess.run(("git", *own, *words), cwd=tree, capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.strip()


def test_a_result_names_the_code_that_differs_from_its_commit(tmp_path: Path) -> None:
    code, result = tmp_path / "code.py", tmp_path / "result.json"
    git(tmp_path, "init", "-q")
    for path in (code, result):
        path.write_text("1\n", "utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    result.write_text("2\n", "utf-8")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert {name: machine(tmp_path)[name] for name in ("commit", "changed_files")} == {
        "commit": commit, "changed_files": [],
    }  # fmt: skip
    code.write_text("2\n", "utf-8")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "other.py").write_text("3\n", "utf-8")
    assert machine(tmp_path)["changed_files"] == ["code.py", "new/other.py"]


# ---- growth ----------------------------------------------------------------------------------------------------------
# The instruments of the growth benchmark, and the units of the speed floors.


MIB = 2**20


def test_recall_and_remember_are_told_in_units_of_the_bare_embedding_of_the_same_run() -> None:
    times = {"bare": [4.0], "bare texts": [5.0], "grpc": [0.5], latency.SMALL_SPACE: [7.0], SPACE: [8.5]}
    times |= {latency.WRITE_SPACE: [10.0], latency.FORCED_SPACE: [9.0]}
    cpu = {name: [3.0] for name in times}
    sizes = {latency.SMALL_SPACE: 1_000, SPACE: 10_000}
    small, large, remember, forced = latency.ratio_rows(times, cpu, sizes)
    assert [(row.value, row.unit, row.target, row.met) for row in (small, large, remember, forced)] == [
        (0.75, "x", "<= 0.75 x", True),
        (1.125, "x", "<= 1 x", False),
        (2.0, "x", "<= 2.6 x", True),
        (1.8, "x", "<= 2.1 x", True),
    ]
    assert all("CPU of the node 3.00 ms" in row.floor for row in (small, large, remember, forced))
    twice = {name: [2 * value for value in values] for name, values in times.items()}
    slower = latency.ratio_rows(twice, cpu, sizes)
    assert [row.value for row in slower] == [row.value for row in (small, large, remember, forced)], (
        "a machine half as fast"
    )


def test_anonymous_memory_counts_what_is_held_and_not_what_is_mapped(tmp_path: Path) -> None:
    file = tmp_path / "mapped"
    np.ones(64 * MIB, np.uint8).tofile(file)
    before = anonymous_bytes(os.getpid())
    mapped = np.memmap(file, np.uint8, "r")
    assert int(mapped[:: 1 << 12].sum()) == 64 * MIB >> 12
    assert anonymous_bytes(os.getpid()) - before < 8 * MIB
    # Not from the heap, which may have this much left from an earlier test.
    held = mmap.mmap(-1, 64 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    np.frombuffer(held, np.uint8)[:] = 1
    assert anonymous_bytes(os.getpid()) - before > 60 * MIB
