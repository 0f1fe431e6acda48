"""`mnemesh doctor --deep` names the comparison it made, and the directory in the command that ends an alarm."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from ledger_builders import Home, Pen, all_done

from mnemesh_gateway.doctor.deep import view
from mnemesh_gateway.doctor.place import Place
from mnemesh_gateway.node.settings import Settings


def test_a_sound_ledger_is_said_to_be_compared_with_how_many_entries_and_rows(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        first, _ = all_done(ledger, pen.create("one"), pen.create("two"))
        all_done(ledger, pen.revise(first.memory, content="one, changed"))
    (remark,) = view(Place(data_dir=home.directory.path, settings=Settings(), now_ms=0))
    assert remark.remark
    assert "3 entries of the log and 2 rows of the view were compared" in remark.problem


def test_an_alarm_of_damage_names_the_directory_to_acknowledge_it_in(home: Home, pen: Pen) -> None:
    with home.opened() as ledger:
        (written,) = all_done(ledger, pen.create("one"))
        with closing(sqlite3.connect(home.file)) as db:
            db.execute("UPDATE memory SET content = 'wrong' WHERE id = ?", (written.memory.id,))
            db.commit()
        assert ledger.read([written.memory.id])
        (alarm,) = ledger.status().alarms
    assert f"mnemesh doctor --acknowledge --data {home.directory.path}" in alarm
