// Rows on which people differ: how far they agree, and one label to settle each.

import { get } from "./api.js";
import { announce, alertUser } from "./common.js";
import { byId, make, percent, plural } from "./dom.js";
import { change } from "./label.js";
import { opener, small, words } from "./lists.js";
import { lastStatus } from "./progress.js";

const LENGTH = 20;
const FEW = 5;

const number = (value) => value.toFixed(2);
const range = (found, write) => `${write(found.value)} (${write(found.low)} to ${write(found.high)})`;
const named = (name) => make("bdi", {}, name || "without a name");

const cells = (kind, row) => row.map((cell) => make(kind, {}, cell));

function table(caption, head, rows) {
  const body = rows.map((row) => make("tr", {}, cells("td", row)));
  return make("div", { class: "scroll" }, make("table", { class: "agreement" }, make("caption", {}, caption),
    make("thead", {}, make("tr", {}, cells("th", head))), make("tbody", {}, body)));
}

function summary(found) {
  if (!found.n_rows) return [make("p", { class: "ground" }, "Nobody has answered a row that was drawn for two people yet, so agreement is not known.")];
  const alpha = found.alpha === null ? "" : ` Krippendorff’s alpha is ${range(found.alpha, number)}.`;
  const parts = [make("p", { class: "ground" },
    `On ${plural(found.n_rows, "row")} drawn at random for two people, all answers were the same in ${range(found.agreed, percent)}.${alpha} Intervals are at 95%.`)];
  if (found.pairs.length) {
    parts.push(table("Who agrees with whom", ["", "rows", "agreed", "Cohen’s kappa"], found.pairs.map((pair) =>
      [[named(pair.one), " and ", named(pair.other)], pair.n, pair.agreed, pair.kappa === null ? "–" : range(pair.kappa, number)])));
  }
  const classes = found.classes.filter((one) => one.n);
  if (classes.length) {
    parts.push(table("By class", ["", "rows", "alpha of this class against the others"], classes.map((one) =>
      [make("bdi", {}, one.name), one.n, one.alpha === null ? "–" : range(one.alpha, number)])));
  }
  if (found.confusions.length) {
    parts.push(table("Classes that are taken for each other", ["", "rows"], found.confusions.slice(0, FEW).map((one) =>
      [[make("bdi", {}, one.one), " and ", make("bdi", {}, one.other)], one.n])));
  }
  return parts;
}

const settle = (row, value) => async () => {
  if (await change("settle", { row: row.row, value, version: row.version })) announce(`Settled: row ${row.key} is ${value}.`);
  await refresh();
};

function otherChoice(row, values) {
  const others = lastStatus().classes.map((one) => one.name).filter((name) => !values.includes(name));
  if (!others.length) return null;
  const options = [make("option", { value: "" }, "another class"), ...others.map((name) => make("option", { value: name }, name))];
  const select = make("select", { "aria-label": `Another class for row ${row.key}` }, options);
  select.addEventListener("change", () => select.value && settle(row, select.value)());
  return select;
}

function item(row) {
  const values = [...new Set(row.answers.map((one) => one.value))];
  const said = row.answers.flatMap((one, k) => [k ? " · " : "", named(one.by), ": ", make("strong", { dir: "auto" }, one.value)]);
  const settled = row.settled === null ? null : make("p", {}, "Settled as ", make("strong", { dir: "auto" }, row.settled), row.settled_by ? [" by ", named(row.settled_by)] : null);
  const buttons = values.map((value) => small(`It is ${value}`, settle(row, value), { "aria-label": `Settle row ${row.key} as ${value}` }));
  return make("li", { class: "item", "data-row": row.row },
    make("div", {}, make("p", { class: "facts" }, `Row ${row.key} · `, said), settled, words(row)),
    make("div", { class: "buttons" }, buttons, otherChoice(row, values), opener(row)));
}

let start = 0;

async function refresh(from = start) {
  const which = byId("which-disagreements").value;
  try {
    const [found, agreement] = await Promise.all([get("disagreements", { which, start: from, count: LENGTH }), get("agreement")]);
    if (!found.rows.length && from > 0) return refresh(Math.max(0, from - LENGTH));
    start = from;
    const end = Math.min(start + LENGTH, found.total);
    const where = found.total ? `${start + 1} to ${end} of ${plural(found.total, "row")}` : which === "open" ? "People agree on all rows that several have answered, or they are settled." : "No row was settled yet.";
    const turns = [["Earlier", start - LENGTH], ["Later", start + LENGTH]].map(([text, to]) => {
      const button = small(text, () => refresh(to));
      button.disabled = to < 0 || to >= found.total;
      return button;
    });
    const pager = make("div", { class: "pager" }, make("p", { class: "quiet", role: "status" }, where), found.total > LENGTH ? turns : []);
    byId("disagreements").replaceChildren(pager, make("ol", { class: "list" }, found.rows.map(item)));
    byId("agreement").replaceChildren(...summary(agreement));
  } catch (error) {
    alertUser(error.message);
  }
  return undefined;
}

export const showDisagreements = () => refresh(0);

export function startDisagreements() {
  byId("which-disagreements").addEventListener("change", () => refresh(0));
}
