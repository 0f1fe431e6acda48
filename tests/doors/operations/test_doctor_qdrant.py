"""The doctor on the Qdrant server that the settings name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from qdrant_double import Fault, QdrantDouble, qdrant_double

from mnemesh_gateway.doctor import qdrant as module
from mnemesh_gateway.doctor.check import CHECKS
from mnemesh_gateway.doctor.examined_node import ExaminedNode
from mnemesh_gateway.doctor.installation import DoctorFinding
from mnemesh_gateway.doctor.report import as_json, as_text
from mnemesh_gateway.node.settings import Settings, load

KEY = "the-key-of-the-tests"


@pytest.fixture
def double() -> Iterator[QdrantDouble]:
    with qdrant_double(api_key=KEY) as made:
        yield made


def found(examined: ExaminedNode) -> list[DoctorFinding]:
    return list(module.server(examined))


@pytest.fixture
def examined(double: QdrantDouble, tmp_path: Path) -> ExaminedNode:
    return ExaminedNode(data_dir=tmp_path, settings=Settings(qdrant_url=double.url, qdrant_api_key=KEY), now_ms=0)


def test_a_server_that_is_well_and_none_at_all_are_no_findings(examined: ExaminedNode) -> None:
    assert module.server in CHECKS
    assert found(examined) == []
    assert found(replace(examined, settings=Settings())) == []


def test_qdrant_not_reachable(examined: ExaminedNode, double: QdrantDouble) -> None:
    double.stop()
    (finding,) = found(examined)
    assert f"Qdrant not reachable: {double.host} does not answer" in finding.problem
    assert "correct qdrant_url" in finding.fix


@pytest.mark.parametrize("fault", [Fault(503), Fault(cut=True), Fault(hang=True)], ids=repr)
def test_a_server_that_does_not_work(
    examined: ExaminedNode, double: QdrantDouble, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TIMEOUT_S", 0.2)
    double.lasting = fault
    assert "Qdrant not reachable" in found(examined)[0].problem


@pytest.mark.parametrize("key", ["", "another"])
def test_a_server_that_refuses_the_key(examined: ExaminedNode, double: QdrantDouble, key: str) -> None:
    (finding,) = found(replace(examined, settings=replace(examined.settings, qdrant_api_key=key)))
    assert "refuses" in finding.problem
    assert "MNEMESH_QDRANT_API_KEY" in finding.fix
    assert [asked.key for asked in double.asked] == [None, key or None], "the first question needs no key"


@pytest.mark.parametrize(("version", "problem"), [("1.18.2", "is Qdrant 1.18"), ("mine", "not as Qdrant does")])
def test_a_server_that_is_too_old_or_another_program(tmp_path: Path, version: str, problem: str) -> None:
    with qdrant_double(version=version) as double:
        (finding,) = found(ExaminedNode(data_dir=tmp_path, settings=Settings(qdrant_url=double.url), now_ms=0))
    assert problem in finding.problem


def test_the_report_says_that_a_key_is_set_and_never_which(tmp_path: Path) -> None:
    made = load({"data_dir": str(tmp_path)}, {"MNEMESH_QDRANT_API_KEY": KEY})
    for text in (as_text(made, []), json.dumps(as_json(made, []))):
        assert KEY not in text
        assert "(set, not shown)" in text
        assert "variable MNEMESH_QDRANT_API_KEY" in text
