// What the tests ask the page: each function returns plain data.
({
  // controls without a name for screen readers
  unnamed() {
    const textOf = (id) => document.getElementById(id)?.textContent ?? "";
    const nameOf = (node) =>
      node.getAttribute("aria-label")
      || (node.getAttribute("aria-labelledby") ?? "").split(" ").map(textOf).join("")
      || [...(node.labels ?? [])].map((label) => label.textContent).join("")
      || node.textContent;
    const controls = "button, a[href], input, select, [role=img], [role=region], [tabindex]";
    return [...document.querySelectorAll(controls)]
      .filter((node) => node.checkVisibility() && !nameOf(node).trim())
      .map((node) => node.outerHTML);
  },

  // controls that are hard to hit with a finger
  smallTargets() {
    const isSmall = (node) => {
      const box = (node.closest("label") ?? node).getBoundingClientRect();
      return box.width < 24 || box.height < 24;
    };
    return [...document.querySelectorAll("button:not(.link), input, select")]
      .filter((node) => node.checkVisibility() && isSmall(node))
      .map((node) => node.outerHTML);
  },

  // texts with less contrast than the 4.5 of WCAG 2.2, AA
  faintTexts() {
    const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
    const linear = (value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    };
    const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    const ground = (node) => {
      for (let at = node; at; at = at.parentElement) {
        const found = numbers(getComputedStyle(at).backgroundColor);
        if (found.length === 3 || found[3] === 1) return found;
      }
      throw new Error("no ground");
    };
    const contrast = (node) => {
      const style = getComputedStyle(node);
      const ink = numbers(node.closest("svg") ? style.fill : style.color);
      const [more, less] = [luminance(ink), luminance(ground(node))].sort((a, b) => b - a);
      return (more + 0.05) / (less + 0.05);
    };
    const skipped = ".hidden, button:disabled, [aria-disabled], title";
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const seen = [];
    while (walker.nextNode()) {
      const node = walker.currentNode.parentElement;
      const text = walker.currentNode.textContent.trim();
      if (text && node.checkVisibility() && !node.closest(skipped)) seen.push([text, contrast(node)]);
    }
    return { seen: seen.length, faint: seen.filter(([, value]) => value < 4.5) };
  },

  // where things are that must not move
  places() {
    const near = ["answers", "skip", "undo", "ask-guess"];
    // on a phone the rest is below the row
    const ids = innerWidth < 700 ? near : [...near, "new-class", "after", "curve", "learn"];
    return ids.map((id) => {
      const box = document.getElementById(id).getBoundingClientRect();
      return [id, box.x, box.y];
    });
  },

  // elements that hide a part of what they hold
  clipped(within = "main") {
    const isClipped = (node) => node.checkVisibility() && node.scrollHeight > node.clientHeight + 1;
    return [...document.querySelectorAll(`${within} *:not(.hidden, .snippet, .tabs)`)].filter(isClipped)
      .filter((node) => getComputedStyle(node).overflowY !== "visible").map((node) => node.id || node.className);
  },

  // top and bottom of an element
  span(selector) {
    const box = document.querySelector(selector).getBoundingClientRect();
    return [box.top, box.bottom];
  },

  // what has the focus, and whether this can be seen
  focus() {
    const node = document.activeElement;
    const style = getComputedStyle(node);
    const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    return [node.id || node.textContent.trim(), outlined];
  },
})
