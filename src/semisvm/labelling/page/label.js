// Labelling one row after the other.

import { get, isConnected, post, showState, Lost, Refused } from "./api.js";
import { answered, classButtons, markAnswer, showClasses as showButtons, startClasses } from "./classes.js";
import { byId, count, make, plural, show } from "./dom.js";
import { probabilityOf, showGuess, showRow, showWeak } from "./row.js";
import { lastStatus, showStatus } from "./progress.js";
import { announce, alertUser, kept, keep } from "./common.js";

const state = { view: null, query: null, seen: false, busy: false };
const SLOW = 250;
const CHANGED = 409;

export const currentRow = () => state.view?.row ?? null;

// One change at a time: a key that is pressed before the next row is there answers nothing.
export async function change(name, values, done) {
  if (state.busy || !isConnected()) return false;
  state.busy = true;
  const slow = setTimeout(() => showState("busy", "Saving"), SLOW);
  try {
    const data = await post(name, values);
    clearTimeout(slow);
    showState("good", "Saved");
    alertUser("");
    if (data.status) showStatus(data.status);
    done?.(data);
    return true;
  } catch (error) {
    clearTimeout(slow);
    if (!(error instanceof Lost || error instanceof Refused)) throw error;
    showState("bad", "Not saved");
    if (error.status === CHANGED && values.row === currentRow()) openRow(values.row);
    alertUser(error instanceof Lost ? "The server does not answer. Your last change is not saved yet." : refusal(error.message));
    return false;
  } finally {
    state.busy = false;
  }
}

// Sentences of the server begin with a small letter if they are meant to follow another one.
const refusal = (text) => (/^not saved/i.test(text) ? text[0].toUpperCase() + text.slice(1) : `Not saved: ${text}`);

function present(view, query) {
  state.view = view;
  state.query = query;
  state.seen = false;
  byId("guess").replaceChildren();
  byId("weak-labels").replaceChildren();
  if (byId("weak").checked) showWeakLabels();
  byId("comment").value = view?.comment ?? "";
  showComment(byId("comment").value !== "");
  const asked = query !== null && view !== null;
  byId("back").hidden = asked || view === null;
  byId("remove").hidden = view === null || (view.answer === null && !view.skipped);
  byId("row").parentElement.classList.toggle("opened", !asked && view !== null);
  if (view === null) {
    showEnd(byId("row"));
  } else {
    show(byId("row-name"), `Row ${view.key}`);
    show(byId("reason"), asked ? query.words : opened(view));
    showRow(byId("row"), view);
  }
  markAnswer(view?.answer ?? null);
  enable();
}

function showEnd(node) {
  const go = (name, text) => {
    const button = make("button", { type: "button", class: "small" }, text);
    button.addEventListener("click", () => byId(name).click());
    return button;
  };
  const { n_rows: all, n_answered: done, n_skipped: aside } = lastStatus();
  const left = all - done - aside;
  show(byId("row-name"), left ? "No row is left for you" : "All rows are done");
  show(byId("reason"), left ? `${left === 1 ? "The last row is" : `The last ${count(left)} rows are`} being answered elsewhere. Reload the page to see whether one has come back.` : "Every row has an answer or was skipped.");
  const may = !byId("take-away").hidden;
  const take = may ? [go("get-labelled", "Labelled file"), go("get-model", "Model")] : [];
  node.replaceChildren(
    make("p", {}, `What is left: look at answers that the model doubts${may ? ", or take the labels and the model away" : ""}.`),
    make("div", { class: "buttons" }, go("tab-doubts", "Doubts"), go("tab-find", "Find rows and change answers"), take));
}

function opened(view) {
  if (view.answer !== null) return `You answered ${view.answer}. Another answer replaces it.`;
  if (view.none) return "You said: none of these classes.";
  return view.skipped ? "You skipped this row." : "This row has no answer.";
}

function showComment(on) {
  byId("comment-place").hidden = !on;
  byId("remark").setAttribute("aria-expanded", String(on));
}

export function remark() {
  const on = byId("comment-place").hidden || document.activeElement !== byId("comment");
  showComment(on);
  if (on) byId("comment").focus();
}

// A blank removes the comment that is there.
function commented() {
  const text = byId("comment").value.trim();
  return text === state.view.comment ? {} : { comment: text || " " };
}

export function enable() {
  const off = !isConnected();
  for (const button of classButtons()) button.disabled = off || state.view === null;
  for (const id of ["skip", "none", "remark", "ask-guess", "remove"]) byId(id).disabled = off || state.view === null;
  for (const id of ["undo", "learn", "learn-auto", "save"]) byId(id).disabled = off;
}

export function showClasses(classes) {
  if (showButtons(classes)) enable();
}

export function answer(value) {
  if (state.view === null) return;
  const { row, key, version } = state.view;
  const wants = byId("after").checked;
  const values = { row, value, version, seen_guess: state.seen, want_guess: wants, ...commented() };
  change("answer", values, (data) => {
    answered(value);
    showLast(row, key, value, wants ? data.saved.guess : null);
    announce(`Saved: row ${key} is ${value}.`);
    present(data.view, data.query);
  });
}

function showLast(row, key, value, guess, aside = " skipped") {
  const link = make("button", { type: "button", class: "link" }, `row ${key}`);
  link.addEventListener("click", () => openRow(row));
  const what = make("p", {}, "Last: ", link, value === null ? aside : " is ", value === null ? null : make("strong", { dir: "auto" }, value));
  const parts = [what];
  if (guess) {
    const same = guess.value === value;
    const words = [same ? "The model agrees" : "The model predicts ", same ? null : make("strong", { dir: "auto" }, guess.value)];
    parts.push(make("p", { class: same ? "agrees" : "differs" }, words, probabilityOf(guess)));
  }
  byId("last").replaceChildren(...parts);
}

export function skip(none = false) {
  if (state.view === null) return;
  const { row, key, version } = state.view;
  change("skip", { row, version, none, ...commented() }, (data) => {
    showLast(row, key, null, null, none ? " is none of these" : " skipped");
    announce(none ? `Row ${key} is none of these.` : `Row ${key} is skipped.`);
    present(data.view, data.query);
  });
}

export function undo(number = null) {
  change("undo", number === null ? {} : { number }, (data) => {
    if (data.undone !== null) showUndone(data);
    else if (data.other !== null) offerUndo(data);
    else showNothingToUndo();
  });
}

function showUndone(data) {
  const what = data.view === null ? described(data.undone) : `row ${data.view.key} is as before`;
  announce(`Undone: ${what}.`);
  byId("last").replaceChildren(make("p", {}, `Undone: ${what}.`));
  if (data.view !== null) present(data.view, null);
}

// Of another window: nobody loses an answer by a key that was pressed here.
function offerUndo(data) {
  const what = data.view === null ? described(data.other) : `row ${data.view.key} ${happened(data.other)}`;
  announce(`Nothing was changed in this window. In another one: ${what}.`);
  const button = make("button", { type: "button", class: "small", id: "undo-other" }, "Undo it");
  button.addEventListener("click", () => undo(data.other.seq));
  byId("last").replaceChildren(make("p", {}, `Last change, in another window: ${what}. `, button));
}

function showNothingToUndo() {
  announce("There is nothing to undo.");
  byId("last").replaceChildren(make("p", { class: "quiet" }, "There is nothing to undo."));
}

const happened = ({ kind, value, facts }) => ({
  answer: `is ${value}`,
  skip: facts?.none ? "is none of these" : "was skipped",
  remove: "lost its answer",
  settle: `was settled as ${value ?? "none of these"}`,
})[kind];

const described = (event) =>
  event.kind === "class" ? `the class ${event.value}` : `${count(event.rows.length)} rows`;

export function remove() {
  if (state.view === null) return;
  const { row, key, version } = state.view;
  change("remove", { row, version }, () => {
    announce(`The answer of row ${key} is removed.`);
    openRow(row);
  });
}

// They are guesses, and influence like them.
function showWeakLabels() {
  if (state.view === null || !Object.keys(state.view.weak).length) return;
  state.seen = true;
  showWeak(byId("weak-labels"), state.view.weak);
}

export async function askGuess() {
  if (state.view === null) return;
  const { row } = state.view;
  state.seen = true;
  showWeakLabels();
  try {
    const { guess } = await get("guess", { row });
    if (currentRow() === row) showGuess(byId("guess"), guess);
  } catch (error) {
    alertUser(error.message);
  }
}

export async function openRow(row) {
  try {
    const { view } = await get("row", { row });
    present(view, null);
    byId("tab-label").click();
    window.scrollTo(0, 0);
    byId("row").focus({ preventScroll: true });
  } catch (error) {
    alertUser(error.message);
  }
}

// Not a change, so it needs no "Saved".
export async function next() {
  const data = await post("next", {});
  showStatus(data.status);
  present(data.view, data.query);
}

// Was the last answer kept before the connection broke?
export async function afterLoss() {
  if (state.view === null || state.query === null) return next();
  const { view } = await get("row", { row: state.view.row });
  if (view.answer === null && !view.skipped) {
    announce("The server is back.");
    enable();
    return undefined;
  }
  showLast(view.row, view.key, view.answer, null);
  return next();
}

export function addClass(name) {
  return change("classes", { name }, (data) => {
    const made = data.status.classes.find((one) => one.name === name.trim());
    announce(made?.key ? `The class ${name} is added: key ${made.key}.` : `The class ${name} is added.`);
  });
}

export function unfold() {
  byId("row").querySelectorAll("button.fold").forEach((button) => button.click());
}

export function startLabelling() {
  // on a phone the answers cover the end of the page, which leaves room for them
  const room = () => document.documentElement.style.setProperty("--answers", `${byId("choices").offsetHeight}px`);
  new ResizeObserver(room).observe(byId("choices"));
  startClasses(answer);
  byId("after").checked = kept("after") === "yes";
  byId("weak").checked = kept("weak") === "yes";
  byId("weak").addEventListener("change", () => {
    keep("weak", byId("weak").checked ? "yes" : null);
    byId("weak-labels").replaceChildren();
    if (byId("weak").checked) showWeakLabels();
  });
  byId("after").addEventListener("change", () => keep("after", byId("after").checked ? "yes" : "no"));
  byId("skip").addEventListener("click", () => skip());
  byId("none").addEventListener("click", () => skip(true));
  byId("remark").addEventListener("click", remark);
  byId("comment").addEventListener("keydown", (event) => event.key === "Enter" && byId("comment").blur());
  byId("name-rest").addEventListener("submit", async (event) => {
    event.preventDefault();
    const name = byId("rest-name").value.trim();
    const done = (data) => announce(`${plural(data.named, "row")} are ${name} now.`);
    if (name && (await change("name-the-rest", { name }, done))) byId("rest-name").value = "";
  });
  byId("undo").addEventListener("click", () => undo());
  byId("remove").addEventListener("click", remove);
  byId("back").addEventListener("click", next);
  byId("ask-guess").addEventListener("click", askGuess);
  byId("add-class").addEventListener("submit", async (event) => {
    event.preventDefault();
    const field = byId("new-class");
    if (field.value.trim() && (await addClass(field.value.trim()))) {
      field.value = "";
      field.blur();
    }
  });
}
