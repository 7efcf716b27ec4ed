// What a person takes away: downloads, and files that the server saves.

import { get, getFile, postSlowly } from "./api.js";
import { byId, make, show } from "./dom.js";

let names = {};

async function busily(button, text, work) {
  const note = byId("saved-files");
  button.disabled = true;
  show(note, text);
  try {
    show(note, await work());
  } catch (error) {
    show(note, error.message);
  }
  button.disabled = false;
}

async function download(what) {
  const address = URL.createObjectURL(await getFile(what));
  make("a", { href: address, download: names[what] }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  return `${names[what]} is ready.`;
}

async function save() {
  const { files } = await postSlowly("save");
  return `Saved ${files.join(" and ")}.`;
}

export async function startFiles() {
  for (const what of ["labelled", "model", "report", "answers", "session", "label-studio", "prodigy", "doccano", "argilla"]) {
    const button = byId(`get-${what}`);
    const text = ["model", "report"].includes(what) ? "Fitting the model to all answers" : "Writing the file";
    button.addEventListener("click", () => busily(button, text, () => download(what)));
  }
  byId("save").addEventListener("click", () => busily(byId("save"), "Fitting the model to all answers", save));
  const about = await get("about");
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
