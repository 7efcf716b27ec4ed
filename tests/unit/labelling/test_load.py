"""Several people at one session: nothing is lost, the order is kept; the benchmark in short."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from benchmarks.labelspeed import experts, journal, write_table

from semisvm.labelling import LabelingSession
from semisvm.labelling.server import PageServer

N_ANSWERS = 20
CLASSES = ("computers", "other")


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "texts.csv"
    words = ("disk", "screen", "mouse"), ("garden", "tree", "soup")
    texts = [f"{words[k % 2][k % 3]} and {words[k % 2][k // 2 % 3]} {k}" for k in range(200)]
    write_table(path, texts)
    return path


def test_many_answers_at_once(table):
    truth = [CLASSES[k % 2] for k in range(200)]

    def press(expert):
        for _ in range(N_ANSWERS):
            expert.answer()

    with (
        LabelingSession.open(table, classes=CLASSES) as session,
        PageServer(session) as server,
        experts(server.address, truth) as people,
        ThreadPoolExecutor(len(people)) as pool,
    ):
        for done in [pool.submit(press, expert) for expert in people]:
            done.result()
        # what was reported as saved is on the disk while the server still runs
        kept = journal(table)
        assert session.status().n_answered == N_ANSWERS * len(people)
    assert {expert.client.name: expert.given for expert in people} == kept
    rows = [row for given in kept.values() for row, _ in given]
    assert len(set(rows)) == len(rows)
