// The browser side of every widget. Python renders the inside as HTML; this file shows it, keeps the focus where it
// was, and sends what the learner does as messages {act, value}. It knows the forms of controls and no widget by name.

const QUIET = "data-lm-suppress-shortcuts"; // where it stands, JupyterLab leaves the keys to us

/** Make `from` like `to` with as little change as possible, so that focus, selection and open details survive. */
function morph(from, to) {
  if (from.nodeType !== to.nodeType || from.nodeName !== to.nodeName) {
    from.replaceWith(to);
    return;
  }
  if (from.nodeType !== Node.ELEMENT_NODE) {
    if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue;
    return;
  }
  const busy = from === from.getRootNode().activeElement && from.matches("input, textarea");
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && name !== QUIET && !(name === "open" && from.nodeName === "DETAILS") && !(name === "style" && from.nodeName === "TEXTAREA")) from.removeAttribute(name);
  }
  for (const { name, value } of [...to.attributes]) {
    if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  if (from.nodeName === "INPUT" && !busy && from.value !== to.getAttribute("value")) from.value = to.getAttribute("value") ?? "";
  if (from.nodeName === "OPTION") from.selected = to.selected;
  if (from.nodeName === "TEXTAREA") {
    if (!busy && from.value !== to.value) from.value = to.value;
    return;
  }
  const wanted = [...to.childNodes];
  wanted.forEach((child, i) => (i < from.childNodes.length ? morph(from.childNodes[i], child) : from.append(child)));
  while (from.childNodes.length > wanted.length) from.lastChild.remove();
}

/** Clicks, keys, drags and drawing inside `root`, as calls of `send(act, value)`. What leads to a step of a reel goes to
 * `walk(element)` first, which says whether it went there. */
function listen(root, send, walk) {
  const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
  const field = (target) => target.matches?.("input, textarea, select");
  let pending = null; // a number typed but not yet sent

  const flush = () => {
    if (!pending) return;
    clearTimeout(pending.timer);
    const { act, value } = pending;
    pending = null;
    send(act, value);
  };

  root.addEventListener("click", (event) => {
    const target = event.target.closest("[data-act]");
    if (!target || field(target) || target.matches(":disabled, [role=spinbutton], [role=slider]")) return;
    flush();
    if (!walk(target)) send(target.dataset.act, target.dataset.value ?? null);
  });

  root.addEventListener("input", (event) => {
    const { target } = event;
    if (!target.dataset.act) return;
    if (target.type === "range" && !walk(target)) send(target.dataset.act, Number(target.value), true);
    if (target.type === "number" || target.type === "search") {
      clearTimeout(pending?.timer);
      pending = { act: target.dataset.act, value: target.value, timer: setTimeout(flush, 150) };
    }
  });

  root.addEventListener("change", (event) => {
    const { target } = event;
    if (target.dataset.act && (target.type === "text" || target.matches("textarea, select"))) send(target.dataset.act, target.value);
  });

  const turn = (spin, steps) => {
    const least = Number(spin.getAttribute("aria-valuemin"));
    const greatest = Number(spin.getAttribute("aria-valuemax"));
    const now = Number(spin.getAttribute("aria-valuenow"));
    const next = clamp(now + steps * Number(spin.dataset.step || 1), least, greatest);
    if (next === now) return;
    spin.setAttribute("aria-valuenow", next); // at once, so that the next press counts from here
    spin.textContent = next;
    send(spin.dataset.act, next);
  };

  root.addEventListener("keydown", (event) => {
    const { target, key } = event;
    if (target.nodeName === "PRE") return; // a long text, which the arrow keys scroll
    const up = key === "ArrowUp" || key === "ArrowRight";
    const down = key === "ArrowDown" || key === "ArrowLeft";
    if (target.matches("[role=spinbutton]") && (up || down || key === "Home" || key === "End")) {
      turn(target, key === "Home" ? -Infinity : key === "End" ? Infinity : up ? 1 : -1);
    } else if (target.matches("[role=slider]") && (up || down)) {
      send(target.dataset.act, [Number(target.dataset.value), up ? 1 : -1]);
    } else if (target.matches("[role=radio]") && (up || down)) {
      const group = [...target.parentElement.children];
      const next = group[(group.indexOf(target) + (up ? 1 : group.length - 1)) % group.length];
      next.focus();
      next.click();
    } else if (target.closest("svg") && target.dataset.act && (key === "Enter" || key === " ")) {
      if (!walk(target)) send(target.dataset.act, target.dataset.value ?? null);
    } else if (target.type === "text" && key === "Enter") {
      target.blur();
      return;
    } else if (!field(target) && !event.ctrlKey && !event.metaKey && !event.altKey) {
      const button = root.querySelector(`button[data-key="${CSS.escape(key)}"]:not(:disabled)`);
      if (!button) return;
      button.click();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });

  root.addEventListener("pointerdown", (event) => {
    const spin = event.target.closest("[role=spinbutton]");
    const sheet = event.target.closest("[data-draw]");
    const map = event.target.closest("[data-map]");
    if (spin) drag(event, spin, () => {
      let last = event.clientX;
      return (move) => {
        const steps = Math.trunc((move.clientX - last) / 12);
        if (steps) (last += steps * 12), turn(spin, steps);
      };
    });
    if (sheet) draw(event, sheet);
    if (map) pan(map, event), drag(event, map, () => (move) => pan(map, move));
  });

  function drag(event, element, start, end = () => {}) {
    const move = start();
    element.setPointerCapture(event.pointerId);
    element.addEventListener("pointermove", move);
    const stop = () => {
      element.removeEventListener("pointermove", move);
      element.removeEventListener("pointercancel", stop);
      end();
    };
    element.addEventListener("pointerup", stop, { once: true });
    element.addEventListener("pointercancel", stop, { once: true });
  }

  /** A curve drawn by hand: one height from 0 to 1 for each of `count` places; gaps are filled between neighbours. */
  function draw(event, sheet) {
    const { left, right, top, bottom, count } = Object.fromEntries(Object.entries(sheet.dataset).map(([k, v]) => [k, Number(v)]));
    const svg = sheet.ownerSVGElement;
    const heights = new Array(count).fill(null);
    const trail = svg.appendChild(document.createElementNS(svg.namespaceURI, "polyline"));
    trail.setAttribute("class", "youline");
    const put = (pointer) => {
      const at = new DOMPoint(pointer.clientX, pointer.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const place = Math.round(clamp((at.x - left) / (right - left), 0, 1) * (count - 1));
      heights[place] = clamp((bottom - at.y) / (bottom - top), 0, 1);
      trail.setAttribute("points", heights.map((h, i) => (h === null ? "" : `${left + (i / (count - 1)) * (right - left)},${bottom - h * (bottom - top)}`)).join(" "));
    };
    put(event);
    drag(event, sheet, () => put, () => {
      trail.remove();
      send("draw", fill(heights));
    });
  }

  /** Mark all that belongs with what is under the pointer or in focus, and say what it is. */
  function show() {
    const mark = root.querySelector("[data-link]:hover") ?? root.querySelector("[data-link]:focus");
    for (const other of root.querySelectorAll(".is-linked")) other.classList.remove("is-linked");
    if (mark) for (const other of root.querySelectorAll(`[data-link="${CSS.escape(mark.dataset.link)}"]`)) other.classList.add("is-linked");
    const tip = root.querySelector(".edu-tip");
    if (!tip) return;
    const words = mark && (mark.dataset.tip || mark.getAttribute("aria-label")); // an empty tip: as it is called
    tip.textContent = words ?? tip.dataset.rest;
    tip.classList.toggle("is-on", Boolean(words));
  }
  for (const type of ["mouseover", "mouseout", "focusin", "focusout"]) root.addEventListener(type, show);
  return show;
}

/** Heights with gaps, completed: straight lines between drawn places, level beyond them. */
export function fill(heights) {
  const known = heights.flatMap((h, i) => (h === null ? [] : [i]));
  return heights.map((h, i) => {
    if (h !== null) return h;
    const before = known.filter((k) => k < i).at(-1);
    const after = known.find((k) => k > i);
    if (before === undefined || after === undefined) return heights[before ?? after];
    return heights[before] + ((heights[after] - heights[before]) * (i - before)) / (after - before);
  });
}

function render({ model, el }) {
  const root = document.createElement("section");
  root.className = "edu";
  root.setAttribute("aria-label", model.get("label"));
  root.tabIndex = -1;
  root.setAttribute(QUIET, "true");
  root.addEventListener("focusin", ({ target }) => target.setAttribute(QUIET, "true")); // JupyterLab looks there first
  el.append(root);

  let waiting = null;
  let queued = null; // a slider sends its latest value once the last one is answered
  const send = (act, value, latest = false) => {
    if (latest && waiting) {
      queued = [act, value];
      return;
    }
    clearTimeout(waiting);
    waiting = setTimeout(() => root.classList.add("is-busy"), 200);
    model.send({ act, value });
  };

  let shown = null;
  const update = () => {
    if (shown === model.get("html") && player.plays()) {
      // The page is as it was. A large one is not gone through for nothing; a refused entry goes back to what holds.
      for (const input of root.querySelectorAll("input[type=text]")) if (input !== document.activeElement) input.value = input.getAttribute("value");
      return refresh();
    }
    shown = model.get("html");
    const held = document.activeElement;
    const inside = root.contains(held);
    const { act, value } = held?.dataset ?? {};
    const next = document.createElement("section");
    next.innerHTML = model.get("html");
    if (!root.firstChild) root.append(...next.childNodes);
    else morph(root.firstChild, next.firstChild);
    // The focus stays on what it was on. If that is gone, as Commit is afterwards, the figure gets it, to be read next.
    // A button that was just disabled would take the keys with it: the widget itself keeps the focus.
    const focused = document.activeElement;
    if (inside && !root.contains(focused)) {
      const same = (other) => other.dataset.act === act && other.dataset.value === value && other.getClientRects().length;
      const again = act && [...root.querySelectorAll("[data-act]:not(:disabled)")].find(same);
      (again || root.querySelector(".edu-stage") || root).focus({ preventScroll: true });
    } else if (inside && focused.matches(":disabled")) root.focus({ preventScroll: true });
    player.load();
    refresh();
  };
  const refresh = () => {
    root.toggleAttribute("data-present", model.get("presenting"));
    player.seek();
    follow(root);
    show();
  };
  const answered = () => {
    clearTimeout(waiting);
    waiting = null;
    root.classList.remove("is-busy");
    update(); // also when nothing changed: a refused entry goes back to what holds
    if (queued) {
      const [act, value] = queued;
      queued = null;
      send(act, value);
    }
  };

  const show = listen(root, send, (element) => player.walk(element));
  const player = play(root, model, () => show());
  update();
  model.on("change:html", update);
  model.on("change:presenting", update);
  model.on("change:answers", answered);
  model.on("change:step", player.seek);
  model.on("msg:custom", player.receive);
  return () => {
    player.stop();
    model.off("change:step", player.seek);
    model.off("msg:custom", player.receive);
    clearTimeout(waiting);
    model.off("change:html", update);
    model.off("change:presenting", update);
    model.off("change:answers", answered);
  };
}

/** Keep the current step of a large figure, and the current line, in sight, scrolling only them. */
function follow(root) {
  for (const view of root.querySelectorAll(".edu-stage.tall, [data-follow]")) {
    const mark = [...view.querySelectorAll("[data-current]")].find((m) => m.getClientRects().length);
    const [inner, outer] = [mark?.getBoundingClientRect(), view.getBoundingClientRect()];
    if (mark) {
      const scale = outer.width / view.offsetWidth || 1; // zoomed, as when presenting
      const away = (low, high, from, to) => (high - low < to - from && (low < from + 24 || high > to - 24) ? (low + high - from - to) / 2 / scale : 0);
      view.scrollTop += away(inner.top, inner.bottom, outer.top, outer.bottom);
      view.scrollLeft += away(inner.left, inner.right, outer.left, outer.right);
    }
    locate(view, true);
  }
}

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

/** Walks through a picture's steps by its reel, without waiting for Python. See tinygrad_edu/views/reel.py. */
function play(root, model, show) {
  let reel = null; // as Python told it
  let tracks = new Map(); // name: [steps, values]
  let changes = new Map(); // step: names of the tracks that begin something there
  let chunks = []; // parts for ranges of steps
  let marks = new Map(); // track: its elements in the page
  let at = null; // the step that the page shows
  let asked = null;
  let heights = null; // track: where its first mark begins in the figure, and where it ends
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
    const body = root.querySelector("[data-at]");
    at = body ? Number(body.dataset.at) : null;
    marks = new Map();
    heights = null;
    pending.clear();
    for (const mark of root.querySelectorAll("[data-track]")) {
      const set = mark.dataset.set.split(BETWEEN).map((one) => [one.slice(0, one.indexOf("=")), one.slice(one.indexOf("=") + 1)]);
      if (!marks.has(mark.dataset.track)) marks.set(mark.dataset.track, []);
      marks.get(mark.dataset.track).push([mark, set]);
    }
    sizes.disconnect();
    for (const view of root.querySelectorAll("[data-follow]")) {
      view.onscroll = () => locate(view);
      sizes.observe(view); // it is measured when it comes into the page, and when the page changes its width
    }
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
    for (const [mark, set] of marks.get(name) ?? []) {
      for (const [attribute, template] of set) {
        const value = template.replace(HOLES, (hole) => values[hole.charCodeAt(0) - 0xe000]);
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
    if (touched.length < 200) touched.forEach(apply);
    else jump(touched, from);
    const held = root.contains(document.activeElement) && document.activeElement;
    parts(step);
    if (held && held.matches(":disabled")) root.focus({ preventScroll: true });
    for (const input of root.querySelectorAll("input[data-walk]")) {
      input.value = step;
      input.setAttribute("value", step);
      input.setAttribute("style", input.getAttribute("style").replace(/--at:\d+/, `--at:${step}`));
    }
    root.querySelector("[data-at]").dataset.at = step;
    follow(root);
    if (press && step === from + 1) move(touched);
  };

  /** Show a step that is far away. What is in sight changes at once, the rest of a large figure soon after. */
  const jump = (touched, from) => {
    for (const name of touched) pending.add(name);
    for (const step of [from, from + 1, at, at + 1]) (changes.get(step) ?? []).forEach(apply); // which cards are current
    follow(root);
    const view = root.querySelector("[data-follow]");
    const top = view.firstElementChild.getBoundingClientRect().top;
    const scale = view.getBoundingClientRect().width / view.offsetWidth || 1;
    heights ??= new Map([...marks].map(([name, [[mark]]]) => {
      const box = mark.getBoundingClientRect();
      return [name, [(box.top - top) / scale, (box.bottom - top) / scale]];
    }));
    for (const name of [...pending]) {
      const [from, to] = heights.get(name) ?? [];
      if (to > view.scrollTop - 60 && from < view.scrollTop + view.clientHeight + 60) apply(name);
    }
    clearTimeout(later);
    later = setTimeout(catchUp, 120);
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
  const move = (touched) => {
    const moved = touched.flatMap((name) => marks.get(name) ?? []).map(([mark]) => mark);
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
      const run = dot.animate({ offsetDistance: ends }, { duration: 240, easing: "cubic-bezier(.2,0,0,1)" });
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
        model.set(reel.trait, step);
        model.save_changes();
      }
      return true;
    },
    /** To where Python stands: it was set there by a program or by another widget. */
    seek() {
      const step = reel?.trait ? model.get(reel.trait) : null;
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
      sizes.disconnect();
      clearTimeout(later);
      clearTimeout(asked);
    },
  };
}

export default { render };
