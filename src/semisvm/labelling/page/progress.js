// How far the session is: numbers, the curve, class shares, the model.

import { byId, count, draw, make, percent, plural, show } from "./dom.js";

const WIDTH = 320;
const HEIGHT = 130;
const LEFT = 40;
const RIGHT = 10;
const TOP = 10;
const BOTTOM = 34;
const FIRST_TIME = "Learning now. The first time on a computer this takes up to a minute; go on meanwhile.";
const listeners = [];
let shown = null;

export const onStatus = (listener) => listeners.push(listener);
export const lastStatus = () => shown;

// Answers may arrive in another order than they were sent.
export function showStatus(status) {
  if (shown !== null && status.version < shown.version) return;
  const changed = shown === null || status.version !== shown.version;
  shown = status;
  if (!changed) return;
  showNumbers(status);
  showCurve(status.curve);
  showShares(status.classes);
  showModel(status);
  for (const listener of listeners) listener(status);
}

function showNumbers(status) {
  show(byId("n-labels"), count(status.n_answered));
  const skipped = status.n_skipped ? `, ${count(status.n_skipped)} skipped` : "";
  const disputed = status.n_disputed ? `, ${count(status.n_disputed)} disputed` : "";
  show(byId("n-labels-of"), `${status.n_answered === 1 ? "label" : "labels"} of ${plural(status.n_rows, "row")}${skipped}${disputed}`);
  const accuracy = status.accuracy;
  show(byId("accuracy"), accuracy === null ? "–" : percent(accuracy.value));
  show(byId("accuracy-of"), accuracy === null
    ? "accuracy: not known yet"
    : `accuracy, ${percent(accuracy.low)} to ${percent(accuracy.high)}, from ${plural(accuracy.n, "random row")}`);
  show(byId("advice"), status.advice);
  byId("name-rest").hidden = !status.n_none;
  show(byId("n-none"), `${plural(status.n_none, "row")} in none of these classes.`);
  showList(byId("notes"), status.notes);
  showList(byId("sources"), status.sources);
  byId("weak-on").hidden = !status.sources.length;
}

function showList(node, texts) {
  while (node.children.length > texts.length) node.lastChild.remove();
  texts.forEach((text, k) => show(node.children[k] ?? node.appendChild(make("li")), text));
}

function showModel(status) {
  const parts = [];
  if (status.model_number) {
    const of = status.model_labels === status.n_answered ? plural(status.model_labels, "label") : `${count(status.model_labels)} of ${plural(status.n_answered, "label")}`;
    const [first, ...rest] = status.method_title;
    parts.push(`${first.toUpperCase()}${rest.join("")} from ${of}.`);
  } else if (!status.fitting) {
    parts.push("No model yet.");
  }
  if (status.fitting) parts.push(status.model_number ? "Learning now." : FIRST_TIME);
  if (status.fit_error) parts.push(status.fit_error);
  show(byId("model"), parts.join(" "));
}

// 95% of the estimates are within 1.96 standard errors.
function shareOf(one) {
  if (one.share === null) return "–";
  const spread = 1.96 * one.share_std;
  const ends = [Math.max(0, one.share - spread), Math.min(1, one.share + spread)].map((end) => percent(end));
  return `${percent(one.share)} (${ends.join(" to ")})`;
}

function showShares(classes) {
  const list = make("ul", { class: "shares", "aria-label": "Classes and their shares" }, classes.map((one, k) => {
    const track = make("span", { class: "track", "aria-hidden": "true" }, make("span", { class: `fill c${k % 5}` }));
    track.firstChild.style.width = percent(one.share ?? 0, 1);
    const share = make("span", { class: "value", title: "estimated share of all rows, with its 95% interval" }, shareOf(one));
    return make("li", {}, make("span", { dir: "auto" }, one.name), make("span", { class: one.count ? "value" : "value none" }, one.count ? plural(one.count, "label") : "no label yet"), track, share);
  }));
  byId("shares").replaceChildren(list);
  // a keyboard can scroll what has the focus
  if (list.scrollHeight > list.clientHeight + 1) list.tabIndex = 0;
}

function ticks(low, high, most) {
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5].find((size) => (high - low) / size <= most) ?? 1;
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9; k += 1) found.push(k * step);
  return found;
}

function wholeTicks(high, most) {
  let step = 1;
  for (let k = 0; high / step > most; k += 1) step = [1, 2, 5][k % 3] * 10 ** Math.floor(k / 3);
  return Array.from({ length: Math.floor(high / step) + 1 }, (_, k) => k * step);
}

const note = (x, y, text, anchor = "middle") => draw("text", { class: "tick", x, y, "text-anchor": anchor }, text);

function grid(x, y, low, last) {
  return [
    ...ticks(low, 1, 4).flatMap((share) => [
      draw("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(share), y2: y(share) }),
      note(LEFT - 6, y(share) + 4, percent(share), "end"),
    ]),
    ...wholeTicks(last, 5).map((n) => note(x(n), HEIGHT - BOTTOM + 15, n)),
    note((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4, "labels"),
  ];
}

function plot(curve) {
  const low = Math.max(0, Math.min(0.8, ...curve.map((point) => Math.floor(20 * point.low) / 20)));
  const last = Math.max(10, ...curve.map((point) => point.n_labels));
  const x = (n) => LEFT + (n / last) * (WIDTH - LEFT - RIGHT);
  const y = (share) => TOP + ((1 - share) / (1 - low)) * (HEIGHT - TOP - BOTTOM);
  const along = (key) => curve.map((point) => `${x(point.n_labels)},${y(point[key])}`);
  const end = curve.at(-1);
  return [
    ...grid(x, y, low, last),
    draw("polygon", { class: "band", points: [...along("low"), ...along("high").reverse()].join(" ") }),
    draw("polyline", { class: "line", points: along("accuracy").join(" ") }),
    draw("circle", { class: "dot", cx: x(end.n_labels), cy: y(end.accuracy), r: 4 }),
  ];
}

function showCurve(curve) {
  const [first, end] = [curve[0], curve.at(-1)];
  const label = first === undefined
    ? "No accuracy is known yet."
    : `Accuracy is ${percent(end.accuracy)} with ${plural(end.n_labels, "label")}; it was ${percent(first.accuracy)} with ${first.n_labels}.`;
  const marks = first === undefined ? note(WIDTH / 2, HEIGHT / 2, "Known after some random rows") : plot(curve);
  byId("curve").replaceChildren(
    draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label }, draw("title", {}, label), marks));
}
