// Walking through the steps of a picture by its reel, without waiting for Python: see tinygrad_edu/views/reel.py. Here is
// also what belongs to a large figure that scrolls: the small map beside it.

/** Show in the small map beside a scrolling figure which part of it is in sight; no map where all is. */
function locate(view, measure = false) {
  const map = view.parentElement.querySelector("[data-map]");
  if (!map) return;
  const [, , width, height] = map.getAttribute("viewBox").split(" ").map(Number);
  if (measure) map.classList.remove("is-needed"); // how much room is there without it?
  if (measure) map.classList.toggle("is-needed", view.scrollWidth > view.clientWidth + 1 || view.scrollHeight > view.clientHeight + 1);
  const box = { x: view.scrollLeft, y: view.scrollTop, width: Math.min(view.clientWidth, width), height: Math.min(view.clientHeight, height) };
  for (const [name, value] of Object.entries(box)) map.querySelector("[data-view]").setAttribute(name, Math.round(value));
}

/** Bring the place of a small map that was pressed into sight. */
function pan(map, { clientX, clientY }) {
  const view = map.parentElement.querySelector("[data-follow]");
  const box = map.getBoundingClientRect();
  view.scrollLeft = ((clientX - box.left) / box.width) * view.scrollWidth - view.clientWidth / 2;
  view.scrollTop = ((clientY - box.top) / box.height) * view.scrollHeight - view.clientHeight / 2;
  locate(view);
}

const HOLES = /[\ue000-\ue0fe]/g;
const BETWEEN = "\ue0ff";

/** A text with its holes filled. */
function filled(template, values) {
  return template.replace(HOLES, (hole) => values[hole.charCodeAt(0) - 0xe000]);
}

/** Where an element is in what a view scrolls; `frame` is the view's place in the window. */
function within(view, frame, element) {
  const box = element.getBoundingClientRect();
  const scale = frame.width / view.offsetWidth || 1; // zoomed, as when presenting
  const across = (x) => (x - frame.left) / scale + view.scrollLeft;
  const down = (y) => (y - frame.top) / scale + view.scrollTop;
  return { left: across(box.left), right: across(box.right), top: down(box.top), bottom: down(box.bottom) };
}

/** Scroll a view so that a box is in sight: in the middle, if it is not there already. */
function bring(view, { left, right, top, bottom }) {
  const away = (low, high, from, room) => (high - low < room && (low < from + 24 || high > from + room - 24) ? (low + high - room) / 2 : from);
  view.scrollTo(away(left, right, view.scrollLeft, view.clientWidth), away(top, bottom, view.scrollTop, view.clientHeight));
}

const PAGES = new WeakMap(); // model: its page as it is now

/** The page of a model: as Python sent it, or as the browser has walked on from there. */
function pageNow(model) {
  return PAGES.get(model)?.() ?? model.get("html");
}

/** Plays the reel of `model` in the page inside `root`; `show` is called after each step, and `tell` with each step walked to. */
function play(root, model, show, tell) {
  let reel = null; // as Python told it
  let tracks = new Map(); // name: [steps, values]
  let changes = new Map(); // step: names of the tracks that begin something there
  let chunks = []; // parts for ranges of steps
  let elements = new Map(); // track: its elements in the page
  let at = null; // the step that the page shows
  let asked = null;
  let ahead = false; // Python has not yet answered to the last step walked to
  let boxes = null; // track: where its first mark is in the figure
  let pending = new Set(); // tracks of marks out of sight that are not yet as they are at this step
  let later = null;
  const sizes = new ResizeObserver(() => at !== null && follow(root));
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  const read = () => {
    if (reel === model.get("reel")) return;
    reel = model.get("reel");
    tracks = new Map();
    changes = new Map();
    chunks = reel?.chunk ? [reel.chunk] : [];
    for (const [name, versions] of Object.entries(reel?.tracks ?? {})) {
      const steps = [];
      const values = [];
      for (const [step, ...told] of versions) {
        const before = values.at(-1);
        steps.push(step);
        values.push(told.map((word, i) => (word < 0 ? before[i] : reel.words[word])));
        changes.set(step, [...(changes.get(step) ?? []), name]);
      }
      tracks.set(name, [steps, values]);
    }
  };

  /** A new page: find its marks. */
  const load = () => {
    read();
    PAGES.set(model, page);
    const body = root.querySelector("[data-at]");
    at = body ? Number(body.dataset.at) : null;
    elements = new Map();
    boxes = null;
    pending.clear();
    for (const mark of root.querySelectorAll("[data-track]")) {
      const set = mark.dataset.set.split(BETWEEN).map((one) => [one.slice(0, one.indexOf("=")), one.slice(one.indexOf("=") + 1)]);
      if (!elements.has(mark.dataset.track)) elements.set(mark.dataset.track, []);
      elements.get(mark.dataset.track).push([mark, set]);
    }
    sizes.disconnect();
    for (const view of root.querySelectorAll("[data-follow]")) {
      view.onscroll = () => locate(view);
      sizes.observe(view); // it is measured when it comes into the page, and when the page changes its width
    }
  };

  /** The page as it is now, also out of sight. */
  const page = () => {
    if (at === null) return undefined;
    [...pending].forEach(apply);
    return root.firstChild.outerHTML;
  };

  const place = (steps, step) => {
    let [low, high] = [0, steps.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      steps[middle] <= step ? (low = middle) : (high = middle);
    }
    return low;
  };

  const apply = (name) => {
    pending.delete(name);
    const [steps, versions] = tracks.get(name);
    const values = versions[place(steps, at)];
    for (const [mark, set] of elements.get(name) ?? []) {
      for (const [attribute, template] of set) {
        const value = filled(template, values);
        if (!attribute) mark.textContent = value;
        else if (value) mark.setAttribute(attribute, value);
        else mark.removeAttribute(attribute);
      }
    }
  };

  /** The parts of a step, if they are here; those to come are asked for in time. */
  const parts = (step) => {
    const chunk = chunks.find((one) => one.from <= step && step <= one.to);
    for (const element of root.querySelectorAll("[data-part]")) {
      element.classList.toggle("is-late", !chunk);
      if (!chunk) continue;
      const versions = chunk.parts[element.dataset.part];
      const html = versions[place(versions.map(([from]) => from), step)][1];
      const next = element.cloneNode(false);
      next.classList.remove("is-late");
      next.innerHTML = html;
      morph(element, next);
      if (!element.classList.length) element.removeAttribute("class");
    }
    ask(step);
  };

  /** Ask for the parts of this step, or of those soon to come; one question at a time. */
  const ask = (step) => {
    const soon = [step, step + 5, step - 5].map((one) => Math.min(Math.max(one, 0), reel.last));
    const missing = soon.find((one) => !chunks.some((chunk) => chunk.from <= one && one <= chunk.to));
    if (missing === undefined || asked) return;
    asked = setTimeout(() => (asked = null), 3000); // nobody may be there to answer
    model.send({ act: "reel", value: missing });
  };

  /** Go to a step, and show only what differs there. */
  const go = (step, press = false) => {
    const from = at;
    at = step;
    for (const mark of root.querySelectorAll(".is-changed")) mark.classList.remove("is-changed");
    const single = Math.abs(step - from) === 1;
    const touched = single ? (changes.get(Math.max(step, from)) ?? []) : [...tracks.keys()].filter((name) => place(tracks.get(name)[0], step) !== place(tracks.get(name)[0], from));
    const far = touched.length >= 200;
    far ? jump(touched, from) : touched.forEach(apply);
    const held = root.contains(document.activeElement) && document.activeElement;
    parts(step);
    if (held && held.matches(":disabled")) root.focus({ preventScroll: true });
    for (const input of root.querySelectorAll("input[data-walk]")) {
      input.value = step;
      input.setAttribute("value", step);
      input.setAttribute("style", input.getAttribute("style").replace(/--at:\d+/, `--at:${step}`));
    }
    root.querySelector("[data-at]").dataset.at = step;
    if (!far) follow(root, false); // a step changes no sizes, and measuring takes long
    if (press && step === from + 1) glide(touched);
  };

  /** Show a step that is far away. What is in sight changes at once, the rest of a large figure soon after. Everything is
   * measured and scrolled before anything changes: the browser then lays the figure out only once. */
  const jump = (touched, from) => {
    const view = root.querySelector("[data-follow]");
    const frame = view.getBoundingClientRect();
    boxes ??= new Map([...elements].map(([name, [[mark]]]) => [name, within(view, frame, mark)]));
    for (const name of touched) pending.add(name);
    const near = [from, from + 1, at, at + 1].flatMap((step) => changes.get(step) ?? []); // which cards are current
    const current = boxes.get(near.find(isCurrent));
    if (current) bring(view, current);
    const [top, bottom] = [view.scrollTop - 60, view.scrollTop + view.clientHeight + 60];
    locate(view);
    near.forEach(apply);
    for (const name of [...pending]) if (boxes.get(name)?.bottom > top && boxes.get(name).top < bottom) apply(name);
    clearTimeout(later);
    later = setTimeout(() => {
      follow(root, false); // long code has a line to follow, too
      catchUp();
    }, 120);
  };

  /** Whether a card is the current one at this step, whatever the page still says. */
  const isCurrent = (name) => {
    const [steps, versions] = tracks.get(name);
    const sets = (elements.get(name) ?? []).flatMap(([, set]) => set);
    return sets.some(([attribute, template]) => attribute === "data-current" && filled(template, versions[place(steps, at)]));
  };
  const catchUp = () => {
    const until = performance.now() + 8;
    for (const name of [...pending]) {
      if (performance.now() > until) break;
      apply(name);
    }
    if (pending.size && at !== null) later = setTimeout(catchUp, 8);
  };

  /** What a single step has moved goes along its edge; with reduced motion, what has changed is outlined instead. */
  const glide = (touched) => {
    const moved = touched.flatMap((name) => elements.get(name) ?? []).map(([mark]) => mark);
    if (calm.matches) {
      for (const mark of moved) if (mark.nodeName === "g") mark.classList.add("is-changed");
      return;
    }
    for (const edge of moved) {
      const way = edge.getAttribute("data-way");
      if (!way || !edge.animate) continue;
      const dot = document.createElementNS(edge.namespaceURI, "circle");
      dot.setAttribute("r", 4);
      dot.setAttribute("class", way === "1" ? "edu-move" : "edu-move back");
      dot.style.offsetPath = `path("${edge.getAttribute("d")}")`;
      edge.parentNode.append(dot);
      const ends = way === "1" ? ["0%", "100%"] : ["100%", "0%"];
      const run = dot.animate({ offsetDistance: ends }, STEP);
      run.onfinish = run.oncancel = () => dot.remove();
    }
  };

  /** Where an element leads: "+1", "-1", "last", "=" (its own value), a step, or one step for each half. */
  const target = (element) => {
    const where = element.dataset.walk;
    if (where === "=") return Number(element.value);
    if (where === "last") return reel.last;
    if (/^[+-]/.test(where)) return at + Number(where);
    const [one, two = one] = where.split(" ").map(Number);
    return at > reel.turn ? two : one;
  };

  return {
    load,
    plays: () => at !== null,
    /** Follow an element that leads to a step. Says whether it did. */
    walk(element) {
      if (element.dataset.walk === undefined || at === null || !reel?.trait) return false;
      const step = Math.min(Math.max(target(element), 0), reel.last);
      if (step !== at) {
        go(step, element.dataset.walk !== "=");
        show();
        ahead = true;
        tell(reel.act, step);
      }
      return true;
    },
    /** Python has answered to everything: from now on its step holds. */
    settle() {
      ahead = false;
    },
    /** To where Python stands: an act, a program or another widget has set it there. */
    seek() {
      const step = reel?.trait && !ahead ? model.get(reel.trait) : null;
      if (at !== null && step !== null && step !== at && step <= reel.last) {
        go(step);
        show();
      }
    },
    receive({ reel: chunk, id } = {}) {
      if (!chunk || at === null || id !== reel.id) return;
      clearTimeout(asked);
      asked = null;
      chunks = [chunk, ...chunks].slice(0, 6);
      root.querySelector(".is-late") ? parts(at) : ask(at);
    },
    stop() {
      at = null;
      PAGES.delete(model);
      sizes.disconnect();
      clearTimeout(later);
      clearTimeout(asked);
    },
  };
}
