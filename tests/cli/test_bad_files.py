"""Files as they come: each is read rightly, or refused with one message and exit code 2."""

import gzip

import pytest
from typer.testing import CliRunner

from semisvm.cli.app import app

ROWS = [
    f"{i % 7}.5,{'ab'[i % 2]} word{i % 2} here {i},{'xy'[i % 2] if i < 8 else ''}"
    for i in range(30)
]
CSV = "size,text,kind\n" + "\n".join(ROWS) + "\n"
SVM = "".join(f"{(1, -1, 0)[i % 3]} {1 + i % 3}:1.5 {5 + i % 2}:0.5\n" for i in range(30))


def fit(tmp_path, name, content, *options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    label = ["--label", "kind"] if name.startswith("a.csv") else []
    arguments = ["fit", str(path), *label, "-o", str(tmp_path / "m"), "-a", "svm", "-q", *options]
    return CliRunner().invoke(app, arguments)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", CSV.replace("kind", "sort", 1), "there is no column 'kind'"),
        ("a.csv", CSV.encode("utf-16")[2:], "a.csv"),
        ("a.csv", CSV.replace("word1", "w\xf6rter").encode("latin-1"), "encoding"),
        ("a.csv", CSV.replace("3.5,", "3.5,more,", 1), "line 5"),
        ("a.csv", CSV.replace(",b word1 here 1,y", "", 1), "line 3"),
        ("a.csv", CSV.replace("b word1 here 1,", '"b word1 here 1,', 1), "line 3"),
        ("a.csv", "", "empty"),
        ("a.csv", "size,text,kind\n", "no row below"),
        ("a.csv", CSV.replace(",y", ",x"), "of one class only"),
        ("a.svm", SVM.replace("2:1.5", "1:1 1:1", 1), "line 2, column"),
        ("a.svm", SVM.replace("2:1.5", "2:nan", 1), "line 2, column"),
        ("a.svm", SVM.replace("2:1.5", "2:1.5:3", 1), "line 2, column"),
        ("a.svm", SVM.replace("2:1.5", "-2:1.5", 1), "line 2, column"),
        ("a.svm", "", "empty"),
        ("a.npz", b"no zip", "a.npz"),
        ("a.csv.gz", gzip.compress(CSV.encode(), mtime=0)[:60], "a.csv.gz"),
    ],
)
def test_refused_with_one_message(tmp_path, name, content, said):
    result = fit(tmp_path, name, content)
    assert result.exit_code == 2, result.output
    lines = result.stderr.splitlines()
    assert len([line for line in lines if line.startswith("error: ")]) == 1
    assert said in lines[-1]
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("a.csv", CSV.rstrip("\n"), []),
        ("a.csv", CSV.replace("\n", "\r\n"), []),
        ("a.csv", "\ufeff" + CSV, []),
        ("a.csv", CSV.encode("utf-16"), []),
        ("a.csv", CSV.replace("word1", "w\xf6rter").encode("latin-1"), ["--encoding", "latin-1"]),
        ("a.csv", CSV.replace("0.5,", ",", 1), []),
        ("a.csv", CSV.replace("word0", "word0 " * 60_000, 1), []),
        ("a.csv.gz", gzip.compress(CSV.encode(), mtime=0), []),
        ("a.csv", CSV.replace(",", ";"), ["--delimiter", ";"]),
        ("a.svm", SVM, []),
        ("a.svm", SVM.rstrip("\n"), []),
        ("a.svm", SVM.replace("1:1.5 5:0.5", "5:0.5 1:1.5"), []),
        ("a.svm", SVM.replace(" 1:1.5", " 0:1.5"), []),
        ("a.svm.gz", gzip.compress(SVM.encode(), mtime=0), []),
    ],
)
def test_read_rightly(tmp_path, name, content, options):
    result = fit(tmp_path, name, content, *options)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
