"""What a person sees of a row: texts, numbers, pictures; matrices too."""

import base64
import zlib

import numpy as np
import pytest
from scipy import sparse

from semisvm.labelling import LabelingError, LabelingSession
from semisvm.tables import DataError, MatrixData


def png(shade):
    """Return a picture of one grey pixel."""

    def chunk(kind, content):
        body = kind + content
        return len(content).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")

    head = (1).to_bytes(4, "big") * 2 + bytes([8, 0, 0, 0, 0])
    data = zlib.compress(bytes([0, shade]))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


JPEG = b"\xff\xd8\xff\xe0" + bytes(60)


def coded(content):
    return base64.b64encode(content).decode()


def test_kinds_of_fields():
    n = 60
    table = {
        "body": [f"some words about the subject number {k}" for k in range(n)],
        "size": [0.5 * k for k in range(n)],
        "from": ["anna", "bert"] * (n // 2),
        "id": [f"x{k:04}" for k in range(n)],
        "photo": [coded(png(k)) for k in range(n)],
        "empty": [None] * n,
    }
    with LabelingSession(table, background=False) as found:
        fields = {field.name: field for field in found.view(3).fields}
        assert {name: field.kind for name, field in fields.items()} == {
            "body": "text",
            "size": "number",
            "from": "category",
            "id": "category",
            "photo": "image",
            "empty": "category",
        }
        assert fields["size"].value == "1.5"
        assert fields["empty"].value == ""
        picture = found.picture(3, "photo")
        assert (picture.media_type, picture.content) == ("image/png", png(3))
        with pytest.raises(LabelingError, match="holds no pictures"):
            found.picture(3, "body")
        assert coded(png(3)) not in found.search("subject", count=5).rows[3].text


def test_pictures_beside_the_data_and_nowhere_else(tmp_path):
    folder = tmp_path / "data"
    (folder / "img").mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(png(1))
    (folder / "img" / "a.png").write_bytes(png(2))
    (folder / "b.jpg").write_bytes(JPEG)
    (folder / "text.png").write_text("no picture")
    (folder / "out.png").symlink_to(tmp_path / "secret.png")
    names = ["img/a.png", "b.jpg", "text.png", "../secret.png", str(tmp_path / "secret.png")]
    names += ["missing.png", "out.png", "", "a\0.png"]
    rows = [f"{name.replace(chr(0), '')},{k % 5}" for k, name in enumerate(names)]
    (folder / "data.csv").write_text("\n".join(["photo,size", *rows]))
    with LabelingSession.open(folder / "data.csv", background=False) as found:
        assert found.view(0).fields[0].kind == "image"
        assert found.picture(0, "photo").content == png(2)
        assert found.picture(1, "photo").media_type == "image/jpeg"
        for row, message in (
            (2, "neither PNG nor JPEG"),
            (3, "outside of the folder"),
            (4, "outside of the folder"),
            (5, "no file"),
            (6, "outside of the folder"),
        ):
            with pytest.raises(LabelingError, match=message):
                found.picture(row, "photo")


def test_data_addresses_and_damaged_ones():
    cells = [f"data:image/png;base64,{coded(png(k))}" for k in range(20)]
    cells[1] = cells[1][:60]
    with LabelingSession(
        {"photo": cells, "size": list(range(20, 60, 2))}, background=False
    ) as found:
        assert found.picture(0, "photo").content == png(0)
        with pytest.raises(LabelingError, match="not valid base64"):
            found.picture(1, "photo")


def test_pictures_alone_can_be_labelled_but_not_learnt_from():
    cells = [coded(png(k)) for k in range(20)]
    with LabelingSession({"photo": cells}, classes=["a", "b"]) as found:
        for k in range(4):
            found.answer(found.ask().row, "ab"[k % 2])
        status = found.status()
        assert "photo can be seen or heard, but are not features" in status.fit_error
        assert status.n_answered == 4
        with pytest.raises(LabelingError, match="nothing to learn from"):
            found.learn()


WAV = b"RIFF" + (36).to_bytes(4, "little") + b"WAVEfmt " + bytes(40)
SOUNDS = {
    "audio/wav": WAV,
    "audio/mpeg": b"ID3" + bytes(60),
    "audio/ogg": b"OggS" + bytes(60),
    "audio/flac": b"fLaC" + bytes(60),
}


@pytest.mark.parametrize("kind", SOUNDS)
def test_recordings(tmp_path, kind):
    content = SOUNDS[kind]
    ending = {"audio/mpeg": "mp3"}.get(kind, kind[6:])
    (tmp_path / f"a.{ending}").write_bytes(content)
    lines = [f"a.{ending},{k}.5" for k in range(6)]
    (tmp_path / "data.csv").write_text("\n".join(["call,size", *lines]))
    with LabelingSession.open(tmp_path / "data.csv", background=False) as found:
        assert found.view(0).fields[0].kind == "audio"
        assert found.search("").rows[0].text == "size: 0.5"
        heard = found.picture(0, "call")
        assert (heard.media_type, heard.content) == (kind, content)
    table = {"call": [coded(content)] * 6, "size": [k + 0.5 for k in range(6)]}
    with LabelingSession(table, background=False) as found:
        assert found.picture(0, "call").content == content


def test_bytes_in_parquet(tmp_path):
    """Also as Hugging Face writes them; answers find their rows again, and no model sees them."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    n = 12
    (tmp_path / "beside.png").write_bytes(png(99))
    files = [{"bytes": png(k), "path": "x.png"} for k in range(n)]
    files[1] = {"bytes": None, "path": "beside.png"}
    files[2] = {"bytes": None, "path": "../beside.png"}
    plain = [png(k) for k in range(n - 1)] + [None]
    sizes = [k + 0.25 for k in range(n)]
    columns = {"photo": plain, "scan": files, "call": [WAV] * n, "size": sizes}
    path = tmp_path / "data.parquet"
    parquet.write_table(pa.table(columns), path)
    for number in range(2):
        with LabelingSession.open(path, classes=["a", "b"], background=False) as found:
            kinds = {field.name: field.kind for field in found.view(0).fields}
            assert list(kinds.values()) == ["image", "image", "audio", "number"]
            assert found.picture(3, "photo").content == png(3)
            assert found.picture(3, "scan").content == png(3)
            assert found.picture(1, "scan").content == png(99)
            assert found.picture(0, "call").media_type == "audio/wav"
            with pytest.raises(LabelingError, match="outside of the folder"):
                found.picture(2, "scan")
            assert found.status().n_answered == 4 * number
            for _ in range(4):
                row = found.ask().row
                found.answer(row, "ab"[row % 2])
            found.export(tmp_path / "labelled.csv")
    with LabelingSession.open(tmp_path / "labelled.csv", label="label", background=False) as found:
        assert found.picture(3, "photo").content == png(3)


def test_words_that_end_like_pictures_are_words():
    texts = ["see the file holiday.png", "please send me the report.jpg"] * 10
    with LabelingSession({"body": texts, "n": list(range(1, 40, 2))}, background=False) as found:
        assert found.view(0).fields[0].kind != "image"


@pytest.mark.parametrize("thin", [False, True])
def test_a_matrix(thin):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) + np.arange(60)[:, None] % 2 * 3
    truth = ["ab"[k % 2] for k in range(60)]
    data = MatrixData(sparse.csr_matrix(X) if thin else X)
    with LabelingSession(data, classes=["a", "b"], background=False) as found:
        for _ in range(20):
            query = found.ask()
            found.answer(query.row, truth[query.row])
        found.fit()
        assert np.mean([found.guess(row).value == truth[row] for row in range(60)]) > 0.9
        assert found.guess(0).because[0][0].startswith("column ")
        assert len(found.view(0).fields) == 5
        assert [item.row for item in found.search("7").rows] == [6]


def test_no_rows():
    with pytest.raises(DataError, match="no rows"):
        LabelingSession({"a": []})


def test_a_key_is_no_feature_and_must_be_unique():
    table = {"id": ["a", "b", "b"], "size": [1.0, 2.0, 4.5]}
    with pytest.raises(DataError, match="must be unique"):
        LabelingSession(table, key="id")
    table["id"] = ["x", "y", "z"]
    with LabelingSession(table, key="id", background=False) as found:
        assert found.view(1).key == "y"
        assert found.ask() is not None
