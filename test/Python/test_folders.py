"""Outputs appear complete or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from hethub import HetHubError
from hethub.folders import new_file, new_folder


def test_folder_appears_at_the_end(tmp_path: Path) -> None:
    with new_folder(tmp_path / "out") as folder:
        (folder / "plan.json").write_text("{}")
        assert not (tmp_path / "out").exists()
        assert folder.parent == tmp_path  # so that relative paths in it stay right
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_failure_leaves_nothing_and_keeps_the_old_one(tmp_path: Path) -> None:
    with new_folder(tmp_path / "out") as folder:
        (folder / "plan.json").write_text("old")
    with pytest.raises(ZeroDivisionError), new_folder(tmp_path / "out") as folder:
        (folder / "plan.json").write_text("new")
        raise ZeroDivisionError
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out" / "plan.json").read_text() == "old"


def test_foreign_folders_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("data")
    with pytest.raises(HetHubError, match="must be new, empty or written by hethub"), new_folder(tmp_path):
        pass
    assert (tmp_path / "precious").read_text() == "data"


def test_file_appears_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "y.npz"
    with pytest.raises(ZeroDivisionError), new_file(target) as file:
        file.write_text("half")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    with new_file(target) as file:
        assert file.suffix == ".npz"
        file.write_text("whole")
    assert [p.name for p in tmp_path.iterdir()] == ["y.npz"]


def test_folder_of_a_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(HetHubError, match="the output's folder must exist"), new_file(tmp_path / "no" / "y.npz"):
        pass
