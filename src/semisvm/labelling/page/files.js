// What a person takes away: downloads, and files that the server saves.

import { getFile, getSlowly, postSlowly } from "./api.js";
import { byId, make, plural, show } from "./dom.js";

let names = {};

async function busily(button, text, work, note = byId("saved-files")) {
  button.disabled = true;
  show(note, text);
  try {
    show(note, await work());
  } catch (error) {
    show(note, error.message);
  }
  button.disabled = false;
}

async function download(what, values) {
  const address = URL.createObjectURL(await getFile(what, values));
  make("a", { href: address, download: names[what] }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  return `${names[what]} is ready.`;
}

async function save() {
  const { files } = await postSlowly("save");
  return `Saved ${files.join(" and ")}.`;
}

// The rows are those of the bound that was chosen then, not of the one that is chosen now.
async function certify() {
  const percent = byId("bound").value;
  const take = byId("get-certified");
  take.hidden = true;
  const { certified } = await getSlowly("certified", { percent });
  take.hidden = certified.labels === 0;
  show(take, `Labels of ${plural(certified.labels, "certified row")}`);
  take.onclick = () => busily(take, "Writing the file", () => download("certified", { percent }));
  return certified.sentences.join(" ");
}

export function startFiles(about) {
  byId("certify").addEventListener("submit", (event) => {
    event.preventDefault();
    busily(event.submitter, "Checking the model by random rows", certify, byId("certified"));
  });
  for (const what of ["labelled", "model", "report", "answers", "session", "label-studio", "prodigy", "doccano", "argilla"]) {
    const button = byId(`get-${what}`);
    const text = ["model", "report"].includes(what) ? "Fitting the model to all answers" : "Writing the file";
    button.addEventListener("click", () => busily(button, text, () => download(what)));
  }
  byId("save").addEventListener("click", () => busily(byId("save"), "Fitting the model to all answers", save));
  names = about.downloads;
  if (about.title) {
    document.title = `${about.title} · semisvm`;
    show(byId("title"), `Labelling ${about.title}`);
  }
  if (about.saves !== null) {
    show(byId("save"), `Save ${about.saves}`);
    byId("save").hidden = false;
  }
}
