"""From no labels to a model that is evaluated, on real texts, through the command line."""

import csv
import json
import re
import signal
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from browsing import Person
from waiting import PATIENCE

GROUPS = ("rec.motorcycles", "sci.space")
N_ANSWERS = 60


@pytest.fixture
def texts(newsgroups):
    """Two newsgroups, without the lines that name them."""
    return [pair for pair in zip(*newsgroups(*GROUPS), strict=True) if pair[0].strip()]


def write(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *rows])


class Server:
    """``semisvm label`` in a process of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.process = None

    def start(self):
        command = [sys.executable, "-m", "semisvm", "label", "posts.csv", "--label", "group"]
        command += ["--classes", ",".join(GROUPS), "-o", "posts.semisvm", "--no-browser"]
        self.process = subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        message = []
        for line in self.process.stdout:
            message.append(line)
            address = re.search(r"http://\S+token=\S+", line)
            if address:
                return address.group()
        raise AssertionError("".join(message))

    def stop(self, how):
        self.process.send_signal(how)
        self.process.communicate(timeout=PATIENCE)
        return self.process.returncode


@pytest.fixture
def server(tmp_path):
    running = Server(tmp_path)
    yield running
    if running.process is not None and running.process.poll() is None:
        running.stop(signal.SIGKILL)


def run(folder, *arguments):
    command = [sys.executable, "-m", "semisvm", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def answer(person, truth, times):
    """Give the true answers, by keyboard."""
    for _ in range(times):
        person.press_and_wait(str(1 + GROUPS.index(truth[int(person.key) - 1])))


def answers_in(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))[1:]


def test_a_whole_session(browser, server, texts, tmp_path):
    train, test = texts[::2][:500], texts[1::2][:400]
    truth = [group for _, group in train]
    write(tmp_path / "posts.csv", ["text"], [[text] for text, _ in train])
    write(tmp_path / "test.csv", ["text", "group"], test)

    person = Person(browser.new_context(), server.start())
    expect(person.page).to_have_title("posts.csv · semisvm")
    answer(person, truth, 20)

    # a slip, undone
    right = GROUPS.index(truth[int(person.key) - 1])
    slip = person.press_and_wait(str(2 - right))
    person.press("u")
    person.until("#row-name", f"Row {slip}$")
    answer(person, truth, 1)

    # a slip that is found later, and changed
    right = GROUPS.index(truth[int(person.key) - 1])
    slip = person.press_and_wait(str(2 - right))
    answer(person, truth, 3)
    person.press("/")
    choice = person.page.get_by_label(f"Answer of row {slip}", exact=True)
    expect(choice).to_have_value(GROUPS[1 - right])
    choice.select_option(GROUPS[right])
    person.until("#announcement", f"Saved: row {slip}")
    person.press("Escape")
    person.press("Escape")
    person.until("#n-labels", "^25$")

    # a reload in the middle
    shown = person.key
    person.reload()
    assert person.key == shown
    answer(person, truth, 10)
    person.until("#n-labels", "^35$")

    # the machine loses power
    assert server.stop(signal.SIGKILL) == -signal.SIGKILL
    person.until("#alert", "does not answer")
    person.page.close()
    person = Person(browser.new_context(), server.start())
    person.until("#n-labels", "^35$")

    # what was answered before can still be undone
    person.press("u")
    person.until("#last", "Undone: row")
    person.until("#n-labels", "^34$")
    answer(person, truth, N_ANSWERS - 34)
    person.until("#n-labels", f"^{N_ANSWERS}$")
    person.until("#model", r"SVM from \d+")

    # leaving
    person.page.get_by_role("button", name="Save posts.semisvm").click()
    person.until("#saved-files", "Saved .*posts.semisvm")
    with person.page.expect_download() as waiting:
        person.page.get_by_role("button", name="Labelled file").click()
    waiting.value.save_as(tmp_path / "labelled.csv")
    assert person.problems == []
    person.page.close()
    server.stop(signal.SIGINT)

    labelled = answers_in(tmp_path / "labelled.csv")
    given = [group for _, group in labelled]
    assert len(given) == len(train)
    assert [
        group for group, right in zip(given, truth, strict=True) if group not in ("", right)
    ] == []
    assert sum(bool(group) for group in given) == N_ANSWERS
    scores = run(tmp_path, "evaluate", "posts.semisvm", "test.csv", "--json")
    assert json.loads(scores)["accuracy"] > 0.85
