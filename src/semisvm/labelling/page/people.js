// Who is at work, and what each has done.

import { byId, count, make, percent, plural, show } from "./dom.js";
import { lastStatus, onStatus } from "./progress.js";

const RIGHTS = { label: 0, settle: 1, finish: 2 };

// Of the rows that others have answered too.
const rightOf = (one) =>
  one.n_judged ? `right in ${percent(one.n_right / one.n_judged)} of ${plural(one.n_judged, "shared row")}` : "no shared rows yet";

const personItem = (one) =>
  make("li", {}, make("span", { dir: "auto" }, one.name), make("span", { class: "value" }, plural(one.n_answered, "row")),
    make("span", { class: "quiet whole" }, one.may_come ? rightOf(one) : `${rightOf(one)}; the link has ended`));

function showPeople(status) {
  byId("people").hidden = status.people.length < 2;
  byId("people-list").replaceChildren(...status.people.map(personItem));
  show(byId("tab-disagreements"), status.n_disputed ? `Disagreements (${count(status.n_disputed)})` : "Disagreements");
}

export function startPeople({ person }) {
  onStatus(showPeople);
  if (lastStatus() !== null) showPeople(lastStatus());
  if (person === null) return;
  const may = (right) => RIGHTS[person.role] >= RIGHTS[right];
  show(byId("person"), person.name);
  byId("person").hidden = false;
  byId("tab-disagreements").hidden = !may("settle");
  for (const id of ["take-away", "get-answers"]) byId(id).hidden = !may("finish");
}
