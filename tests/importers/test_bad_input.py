"""Bad input, for every importer: what can be read is read, the rest is a finding; never a traceback or a hang."""

import json
import zipfile
from contextlib import suppress
from pathlib import Path
from time import perf_counter

import pytest

from dsh_session import SessionError, import_log, load
from dsh_session.importers import ImportLogError, importers
from dsh_session.importers.found import Imported
from tests.importers.accounting import assert_accounted
from tests.importers.corpora import importer_named, small_logs
from tests.importers.fuzzing import assert_sound

NAMES = [importer.name for importer in importers()]
BINARY = bytes(range(256)) * 300
PICTURE = "iVBORw0KGgo" + "A" * 50_000


def read_file(name: str) -> Path | None:
    """Give a small recorded log of a format that is a plain file."""
    return next((path for path in small_logs(name) if path.is_file() and not zipfile.is_zipfile(path)), None)


def read(name: str, path: Path) -> Imported | None:
    """Read a file with one importer; what is read is sound and accounted for."""
    try:
        imported = importer_named(name).read(path)
    except ImportLogError as error:
        assert error.code.startswith("IMPORT_")
        assert len(error.message) > 20
        return None
    assert_sound(imported)
    assert_accounted(path, imported)
    return imported


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n \r\n",
        BINARY,
        b"PK\x03\x04" + BINARY,
        b"\x28\xb5\x2f\xfd" + BINARY,
        b"\x1f\x8b" + BINARY,
        b"plain text\nof several lines\n",
        b"null",
        b"[]",
        b"{}",
        b"0",
        b'"text"',
        b"[[[[[[",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[null, 1, {}]",
        b'{"type": "session"}',
        b'{"type": null, "message": {"role": 5, "content": {"a": 1}}}\n' * 3,
        b'{"role": "user", "content": [{"type": ["text"], "text": {}}]}\n',
        b"\xff\xfe" + "{}\n".encode("utf-16-le"),
        b"\xef\xbb\xbf{}",
    ],
    ids=[
        "empty", "blank", "binary", "no zip", "no zstd", "gzip", "text", "null", "no items", "no keys", "number",
        "string", "cut", "deep list", "deep object", "junk", "header", "odd lines", "odd message", "UTF-16", "mark",
    ],
)  # fmt: skip
def test_any_content_is_read_or_refused_with_a_code(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    read(name, path)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_that_is_no_log_is_read_or_refused_with_a_code(name: str, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "notes.txt").write_text("notes")
    with suppress(ImportLogError, OSError):
        assert_sound(importer_named(name).read(tmp_path))


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_is_cut_anywhere_is_read_up_to_there(name: str, tmp_path: Path) -> None:
    source = read_file(name)
    if source is None:
        source = small_logs(name)[0]
        if source.is_dir():
            source = min(file for file in source.rglob("*") if file.is_file())
    data = source.read_bytes()
    path = tmp_path / source.name
    for part in range(1, 16):
        path.write_bytes(data[: len(data) * part // 16])
        read(name, path)


@pytest.mark.parametrize("name", NAMES)
def test_a_byte_order_mark_and_windows_line_ends_change_nothing_but_the_findings(name: str, tmp_path: Path) -> None:
    source = read_file(name)
    if source is None:
        return  # archives and folders have none
    path = tmp_path / source.name
    path.write_bytes(b"\xef\xbb\xbf" + source.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    imported = read(name, path)
    assert imported is not None
    assert "BYTE_ORDER_MARK" in {finding.code for finding in imported.findings}
    sound = importer_named(name).read(source).session
    assert [event.to_dict() for event in imported.session.events] == [event.to_dict() for event in sound.events]
    assert import_log(path).agent == imported.agent


@pytest.mark.parametrize("name", NAMES)
def test_pretty_printed_json_is_recognised_and_read(name: str, tmp_path: Path) -> None:
    source = read_file(name)
    if source is None or name == "dsh":
        return  # version 0 is strict: a line is an event
    values = []
    for line in source.read_bytes().splitlines():
        try:
            values.append(json.loads(line))
        except ValueError:
            if len(values) == 0:
                break
    pretty = json.dumps(json.loads(source.read_bytes()), indent=2) if not values else ""
    path = tmp_path / "pretty.json"
    path.write_text(pretty or "\n".join(json.dumps(value, indent=2) for value in values))
    imported = read(name, path)
    assert imported is not None
    assert imported.session.seq == importer_named(name).read(source).session.seq
    assert import_log(path).session.seq == imported.session.seq


@pytest.mark.parametrize("name", NAMES)
def test_a_line_of_many_megabytes_is_read_in_no_time(name: str, tmp_path: Path) -> None:
    source = read_file(name)
    if source is None or name == "dsh":
        return
    huge = b'{"type":"huge","data":"' + b"x" * 50_000_000 + b'"}'
    path = tmp_path / source.name
    data = source.read_bytes()
    if b"\n{" not in data:
        return  # one document has no lines
    path.write_bytes(data.rstrip(b"\n") + b"\n" + huge + b"\n" + huge[:1000] + b"\n")
    start = perf_counter()
    imported = importer_named(name).read(path)
    assert perf_counter() - start < 20
    assert_sound(imported)
    assert_accounted(path, imported)


@pytest.mark.parametrize("name", NAMES)
def test_pictures_become_a_line_of_text(name: str, tmp_path: Path) -> None:
    source = read_file(name)
    if source is None or name == "dsh":
        return
    text = source.read_text(encoding="utf-8")
    blocks = {
        "openhands": '{"type":"image","image_urls":["data:image/png;base64,%s"]}',
        "codex": '{"type":"input_image","image_url":"data:image/png;base64,%s"}',
        "pi": '{"type":"image","data":"%s","mimeType":"image/png"}',
    }
    block = (
        blocks.get(name, '{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}') % PICTURE
    )
    path = tmp_path / source.name
    path.write_text(
        text.replace('"content":[', f'"content":[{block},').replace('"content": [', f'"content": [{block},')
    )
    imported = read(name, path)
    assert imported is not None
    assert PICTURE.encode() not in b"".join(session.to_jsonl() for session in imported.sessions)


def test_what_nobody_knows_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"plain text\n")
    with pytest.raises(ImportLogError, match="no known format; known are the logs of dsh, ") as caught:
        import_log(path)
    assert (caught.value.code, caught.value.line) == ("IMPORT_UNKNOWN", 1)
    with pytest.raises(SessionError, match="no session header"):
        load(path)
    path.write_bytes(b"  \n")
    with pytest.raises(ImportLogError, match="the file is empty"):
        import_log(path)
    for read_folder in (import_log, load):
        with pytest.raises(ImportLogError, match="this folder is no log") as refused:
            read_folder(tmp_path)
        assert refused.value.code == "IMPORT_FOLDER"
    with pytest.raises(ImportLogError, match="there is no format 'x'; there are dsh, "):
        import_log(path, format="x")
    with pytest.raises(FileNotFoundError):
        import_log(tmp_path / "none")
