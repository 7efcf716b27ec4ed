// The labelling page in a notebook: one row after the other. Texts only ever become text.

const KEYS = 9;

function make(name, attributes = {}, ...content) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...content.flat().filter((part) => part !== null));
  return node;
}

const percent = (share) => `${Math.round(100 * share)}%`;

// A request and its answer have the same number.
function connection(model) {
  const waiting = new Map();
  let last = 0;
  const receive = ({ id, result, error }) => {
    const [resolve, reject] = waiting.get(id) ?? [];
    waiting.delete(id);
    if (error !== undefined) reject?.(new Error(error));
    else resolve?.(result);
  };
  model.on("msg:custom", receive);
  const ask = (name, values = {}) =>
    new Promise((resolve, reject) => {
      last += 1;
      waiting.set(last, [resolve, reject]);
      model.send({ id: last, name, values });
    });
  return { ask, end: () => model.off("msg:custom", receive) };
}

function render({ model, el }) {
  const { ask, end } = connection(model);
  const parts = Object.fromEntries(["head", "answers", "row", "guess", "state"].map((name) => [name, make("div", { class: `semisvm-${name}` })]));
  parts.state.setAttribute("role", "status");
  const root = make("div", { class: "semisvm-widget", tabindex: "0", role: "group", "aria-label": "Labelling" }, Object.values(parts));
  const classes = make("span");
  const name = make("input", { "aria-label": "New class", placeholder: "New class", maxlength: "200" });
  const add = async (event) => {
    event.preventDefault();
    if (await change("classes", { name: name.value })) name.value = "";
  };
  parts.answers.append(classes, make("form", { onsubmit: add }, name));
  const state = { view: null, classes: [], seen: false, busy: false };

  const field = (one) => {
    const tag = { image: "img", audio: "audio" }[one.kind];
    if (tag === undefined) return make("p", { dir: "auto" }, make("span", { class: "semisvm-name" }, `${one.name} `), one.value);
    const media = make(tag, { alt: one.name, "aria-label": one.name, controls: tag === "audio" });
    ask("picture", { row: state.view.row, name: one.name }).then((address) => media.setAttribute("src", address), () => media.replaceWith(one.value));
    return media;
  };

  function showStatus(status) {
    state.classes = status.classes;
    const accuracy = status.accuracy === null ? "accuracy not known yet" : `accuracy ${percent(status.accuracy.value)} (${percent(status.accuracy.low)} to ${percent(status.accuracy.high)})`;
    parts.state.textContent = `${status.n_answered} of ${status.n_rows} rows labelled, ${accuracy}. ${status.advice}`;
    classes.replaceChildren(...status.classes.map((one, k) =>
      make("button", { type: "button", onclick: () => answer(one.name) }, k < KEYS ? `${k + 1} ` : "", make("bdi", {}, one.name))));
  }

  function present({ view, query, status, undone }) {
    if (status) showStatus(status);
    if (undone === null) parts.guess.textContent = "There is nothing to undo here.";
    // what is undone may be about no row, or about many
    if (view === undefined || undone === null || (undone && view === null)) return;
    Object.assign(state, { view, seen: false });
    parts.guess.replaceChildren();
    if (view === null) {
      const left = status.n_rows - status.n_answered - status.n_skipped;
      parts.head.textContent = left ? "The last rows are being answered elsewhere." : "Every row has an answer or was skipped.";
      parts.row.replaceChildren();
      return;
    }
    const tools = [["Skip", "s", skip], ["None of these", "0", none], ["Undo", "u", undo], ["Guess", "g", guess]].map(([text, key, act]) =>
      make("button", { type: "button", title: `Key ${key}`, onclick: act }, text));
    parts.head.replaceChildren(make("strong", {}, `Row ${view.key} `), make("span", {}, query?.words ?? ""), ...tools);
    parts.row.replaceChildren(...view.fields.map(field));
  }

  // One change at a time: a key that is pressed before the next row is there answers nothing.
  async function change(what, values) {
    if (state.busy) return false;
    state.busy = true;
    const inside = root.contains(document.activeElement);
    try {
      present(await ask(what, values));
      return true;
    } catch (error) {
      parts.state.textContent = error.message;
      return false;
    } finally {
      state.busy = false;
      if (inside) root.focus({ preventScroll: true });
    }
  }

  const row = () => ({ row: state.view.row, version: state.view.version });
  const answer = (value) => state.view && change("answer", { ...row(), value, seen_guess: state.seen });
  const skip = () => state.view && change("skip", row());
  const none = () => state.view && change("skip", { ...row(), none: true });
  const undo = () => change("undo", {});
  async function guess() {
    if (state.view === null) return;
    state.seen = true;
    const found = await ask("guess", { row: state.view.row });
    const weak = Object.entries(state.view.weak).map(([name, value]) => `${name}: ${value}. `);
    const guessed = found.guess === null ? "There is no model yet." : `The model predicts ${found.guess.value}.`;
    parts.guess.textContent = weak.join("") + guessed;
  }

  root.addEventListener("keydown", (event) => {
    if (event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const one = /^[1-9]$/.test(event.key) ? state.classes[Number(event.key) - 1] : undefined;
    const act = one ? () => answer(one.name) : { 0: none, s: skip, u: undo, g: guess }[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation(); // notebooks have keys of their own
    act();
  });

  el.append(root);
  change("next", {});
  return end;
}

export default { render };
