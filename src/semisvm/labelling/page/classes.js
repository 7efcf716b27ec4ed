// The buttons of the classes; of many classes a few, and a field that finds the others.

import { byId, clean, count, make, show } from "./dom.js";

// classes from which buttons are low, and from which not all of them are shown
const SEVERAL = 9;
const MANY = 20;
const SHOWN = 12;

let names = null;
let keys = new Map();
let recent = [];
let chosen = null;
let choose = () => {};

export const classByKey = (number) => names?.[number - 1];

const isLong = () => names.length > MANY;

// Letters anywhere in the name; beginnings of names and of words come first.
function found(letters) {
  const wanted = letters.toLocaleLowerCase();
  const rank = (name) => {
    const place = name.toLocaleLowerCase().indexOf(wanted);
    if (place <= 0) return place === 0 ? 0 : 3;
    return /[\p{L}\p{N}]/u.test(name[place - 1]) ? 2 : 1;
  };
  const ranked = names.map((name) => [rank(name), name]).filter(([place]) => place < 3);
  return ranked.sort(([a], [b]) => a - b).map(([, name]) => name);
}

// Keys, then what was chosen last, then the others in order.
function usual() {
  const first = names.slice(0, SEVERAL);
  const rest = names.slice(SEVERAL);
  const used = recent.filter((name) => rest.includes(name));
  return [...first, ...new Set([...used.slice(0, SHOWN - SEVERAL), ...rest])].slice(0, SHOWN);
}

function button(name, k, first) {
  const key = keys.get(name);
  const hint = first ? "Enter" : key;
  const node = make("button", { type: "button", class: `answer c${names.indexOf(name) % 5}` },
    hint ? make("kbd", {}, hint) : null, make("span", { dir: "auto" }, name));
  node.dataset.value = name;
  if (key) node.setAttribute("aria-keyshortcuts", key);
  node.addEventListener("click", () => choose(name));
  return node;
}

function draw() {
  const box = byId("answers");
  const letters = byId("seek-class").value.trim();
  const seeking = isLong() && letters !== "";
  const shown = seeking ? found(letters) : isLong() ? usual() : names;
  // what is below does not move while somebody types
  box.style.minHeight = seeking ? `${box.offsetHeight}px` : "";
  box.replaceChildren(...shown.slice(0, isLong() ? SHOWN : shown.length).map((name, k) => button(name, k, seeking && k === 0)));
  show(byId("seek-note"), seeking ? foundText(shown.length) : "");
  if (!names.length) box.replaceChildren(make("p", { class: "quiet" }, "Name at least two classes, one after the other."));
  markAnswer(chosen);
}

const foundText = (number) =>
  number === 0 ? "No class has these letters." : `${count(number)} of ${count(names.length)} classes${number > SHOWN ? `, the first ${SHOWN} are shown` : ""}`;

// Buttons are made anew only if the classes have changed: the focus stays where it is.
export function showClasses(classes) {
  const given = classes.map((one) => one.name);
  if (JSON.stringify(given) === JSON.stringify(names)) return false;
  names = given;
  keys = new Map(classes.filter((one) => one.key !== null).map((one) => [one.name, String(one.key)]));
  byId("panel-label").classList.toggle("nameless", !names.length);
  byId("answers").classList.toggle("low", names.length > SEVERAL);
  byId("seek").hidden = !isLong();
  byId("seek-class").placeholder = `Find one of ${count(names.length)} classes`;
  draw();
  return true;
}

export const classButtons = () => byId("answers").querySelectorAll("button");

export function markAnswer(value) {
  chosen = value;
  for (const node of classButtons()) node.setAttribute("aria-pressed", String(node.dataset.value === clean(value ?? "")));
}

// The letters of the last answer are gone; who typed them goes on typing.
export function answered(name) {
  recent = [name, ...recent.filter((other) => other !== name)].slice(0, SHOWN);
  byId("seek-class").value = "";
  if (names !== null && isLong()) draw();
}

export function seekClass() {
  if (names !== null && isLong()) byId("seek-class").focus();
}

export function startClasses(onChoice) {
  choose = onChoice;
  byId("seek-class").addEventListener("input", draw);
  byId("seek").addEventListener("submit", (event) => {
    event.preventDefault();
    const first = classButtons()[0];
    if (byId("seek-class").value.trim() && first && !first.disabled) first.click();
  });
  byId("seek-class").addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    classButtons()[0]?.focus();
  });
}
