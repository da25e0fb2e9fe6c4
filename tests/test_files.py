"""Atomic writing: errors, full disks and kills leave the old file, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from bucketrank import PartialLabelRankingTree, load_model, save_model
from bucketrank._files import check_writable, write_file

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions, signals and pipes")
TREE = PartialLabelRankingTree().fit([[0], [1]], [[1, 2], [2, 1]])


def test_text_and_bytes_replace_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_file(path, "first é\n")
    assert path.read_bytes() == "first é\n".encode()
    write_file(str(path), b"second")
    assert path.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [path]


@posix
def test_new_files_have_default_permissions_and_replaced_files_keep_theirs(tmp_path: Path) -> None:
    new, plain = tmp_path / "new", tmp_path / "plain"
    plain.write_text("")
    write_file(new, "")
    assert new.stat().st_mode == plain.stat().st_mode
    new.chmod(0o640)
    write_file(new, "again")
    assert new.stat().st_mode & 0o777 == 0o640


@posix
def test_symbolic_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    link.symlink_to(target)
    for text in ("new", "replaced"):
        write_file(link, text)
        assert link.is_symlink()
        assert target.read_text() == text


@posix
def test_pipes_are_written_directly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    write_file(check_writable(str(pipe)), "through the pipe")
    reader.join(10)
    assert found == ["through the pipe"]
    assert pipe.is_fifo()


@posix
@pytest.mark.parametrize("kind", ["pipe", "file"])
def test_standard_output_is_written_directly(kind: str, tmp_path: Path) -> None:
    code = """
    from bucketrank._files import check_writable, write_file
    write_file(check_writable("/dev/stdout"), "one\\n")
    print("two")
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    if kind == "pipe":
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    else:
        with (tmp_path / "out").open("a") as sink:
            subprocess.run(command, check=True, stdout=sink)
        out = (tmp_path / "out").read_text()
    assert out == "one\ntwo\n"


@pytest.mark.skipif(
    not os.access("/dev/shm", os.W_OK), reason="needs the folder /dev/shm, a file system in memory"
)
def test_files_in_shared_memory_are_replaced() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder, "model.bin")
        write_file(path, b"old")
        with path.open("rb") as reader:
            write_file(path, b"new")
            assert reader.read() == b"old"
        assert path.read_bytes() == b"new"


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def fill_disk(*_: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("step", "failure", "error"),
    [
        ((os, "fsync"), fill_disk, OSError),
        ((Path, "replace"), fill_disk, OSError),
        ((os, "fsync"), interrupt, KeyboardInterrupt),
    ],
)
def test_errors_keep_the_old_model(
    step: tuple[object, str],
    failure: Callable[..., None],
    error: type[BaseException],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "model.bin"
    save_model(TREE, path)
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(*step, failure)
        with pytest.raises(error) as caught:
            save_model(TREE, path)
    if isinstance(caught.value, OSError):
        assert caught.value.filename == str(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    load_model(path)


@posix
def test_a_full_disk_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    code = f"""
    import resource, signal
    from bucketrank._files import write_file
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
    try:
        write_file({str(path)!r}, b"x" * 1_000_000)
    except OSError as error:
        print(error.filename)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert out == f"{path}\n"
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@posix
@pytest.mark.parametrize("step", ["os.fsync", "Path.replace"])
def test_a_kill_keeps_the_old_file(step: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    code = f"""
    import os, signal
    from pathlib import Path
    from bucketrank._files import write_file
    {step} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    write_file({str(path)!r}, b"x" * 1_000_000)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_text() == "old"


def test_paths_of_folders_and_in_missing_folders_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        write_file(tmp_path / "missing" / "file", "")
    with pytest.raises(OSError, match=tmp_path.name):
        write_file(tmp_path, "")
    with pytest.raises(ValueError, match="found a folder; expected the name of a file"):
        check_writable(str(tmp_path))
    with pytest.raises(ValueError, match="there is no folder"):
        check_writable(str(tmp_path / "missing" / "file"))
    assert not list(tmp_path.iterdir())
