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
  if (from.matches("[data-ahead]")) return; // it shows what was asked for last, and the answer to that comes
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

/** Clicks, keys, drags and drawing inside `root`, as calls of `send(act, value)`. `leave` ends a presentation;
 * `walk(element)` goes to the step that an element leads to, and says whether it did. */
function listen(root, send, leave, walk) {
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

  /** A prediction can be committed as soon as it is made: Tab must not pass *Commit* by while the answer is under way. */
  const drafted = (target) => {
    const commit = target.dataset.act === "draft" && root.querySelector("[data-act=commit]:disabled");
    if (!commit || (field(target) && !target.value)) return;
    commit.disabled = false;
    commit.dataset.ahead = "";
  };

  root.addEventListener("click", (event) => {
    const target = event.target.closest("[data-act]");
    if (!target || field(target) || target.matches(":disabled, [role=spinbutton], [role=slider]")) return;
    flush();
    drafted(target);
    if (!walk(target)) send(target.dataset.act, target.dataset.value ?? null);
  });

  root.addEventListener("input", (event) => {
    const { target } = event;
    if (!target.dataset.act) return;
    drafted(target);
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
    spin.dataset.ahead = ""; // also if the answer to an earlier press comes between
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
    } else if (target.matches("svg [data-rove]") && (up || down || key === "Home" || key === "End")) {
      const marks = [...target.ownerSVGElement.querySelectorAll("[data-rove]")];
      const next = key === "Home" ? 0 : key === "End" ? marks.length - 1 : marks.indexOf(target) + (key === "ArrowRight" || key === "ArrowDown" ? 1 : -1);
      marks[clamp(next, 0, marks.length - 1)].focus();
    } else if (target.closest("svg") && target.dataset.act && (key === "Enter" || key === " ")) {
      if (!walk(target)) send(target.dataset.act, target.dataset.value ?? null);
    } else if (target.type === "text" && key === "Enter") {
      target.blur();
      return;
    } else if (root.matches("[data-present]") && (key === "PageDown" || key === "PageUp")) {
      remote(root, key)?.click();
    } else if (root.matches("[data-present]") && key === "Escape") {
      leave();
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

function initialize({ model }) {
  if (model.get("pictures")) restorePictures(model);
  else {
    keepPicture(model);
    showAgain(model.widget_manager, model.get("key"));
  }
}

function render({ model, el }) {
  const root = document.createElement("section");
  root.className = "edu";
  root.setAttribute("aria-label", model.get("label"));
  root.tabIndex = -1;
  root.setAttribute(QUIET, "true");
  root.addEventListener("focusin", ({ target }) => target.setAttribute(QUIET, "true")); // JupyterLab looks there first
  el.classList.add("edu-place");
  el.append(root);

  let waiting = null;
  let queued = null; // a slider sends its latest value once the last one is answered, and so does a walk its step
  let unanswered = 0;
  let answers = model.get("answers");
  let alone = false; // without a kernel
  let zoom; // of a presentation: it becomes smaller where a state needs it, and never larger under the reader's eyes
  let changed = []; // the marks that the last act has changed, where they must not move
  const send = (act, value, latest = false, shown = false) => {
    if (latest && waiting) {
      queued = [act, value, latest, shown];
      return;
    }
    clearTimeout(waiting);
    changed = [];
    waiting = setTimeout(() => shown || root.classList.add("is-busy"), 200); // what is shown already makes nobody wait
    try {
      if (queued) post(...queued); // it was done before this
      queued = null;
      post(act, value);
    } catch {
      gone(); // nobody is there to send it to
    }
  };
  const post = (act, value) => {
    model.send({ act, value });
    unanswered += 1;
  };
  const gone = () => {
    if (alone) return;
    clearTimeout(waiting);
    waiting = null;
    alone = true;
    root.classList.remove("is-busy");
    update();
  };

  let shown = null;
  const update = () => {
    const ahead = unanswered && !alone ? [] : [...root.querySelectorAll("[data-ahead]")];
    for (const control of ahead) delete control.dataset.ahead;
    if (shown === model.get("html") && player.plays() && !alone && !ahead.length) {
      // The page is as it was. A large one is not gone through for nothing; a refused entry goes back to what holds.
      for (const input of root.querySelectorAll("input[type=text]")) if (input !== document.activeElement) input.value = input.getAttribute("value");
      return refresh();
    }
    shown = model.get("html");
    const held = document.activeElement;
    const inside = root.contains(held);
    const { act, value } = held?.dataset ?? {};
    const asked = held?.matches("[data-asks]");
    const before = waiting && marks(root); // nothing moves but after an act
    const next = document.createElement("section");
    next.innerHTML = alone ? still(pageNow(model)) : shown;
    if (!root.firstChild) root.append(...next.childNodes);
    else morph(root.firstChild, next.firstChild);
    // The focus stays on what it was on. If that is gone, as Commit is afterwards, the figure gets it, to be read next; where
    // steps follow each other, the button of the next one.
    // A button that was just disabled would take the keys with it: the widget itself keeps the focus.
    const focused = document.activeElement;
    if (inside && !root.contains(focused)) {
      const same = (other) => other.dataset.act === act && other.dataset.value === value && other.getClientRects().length;
      const again = act && [...root.querySelectorAll("[data-act]:not(:disabled)")].find(same);
      const next = root.querySelector(".edu-body > .edu-stage, .edu-desk > .edu-stage, .edu-board button.main:not(:disabled)");
      (again || next || root).focus({ preventScroll: true });
    } else if (inside && focused.matches(":disabled")) root.focus({ preventScroll: true });
    // A switch that was pressed and asks first: its answers stand before it, where Tab would not come.
    if (inside && !asked && document.activeElement.matches("[data-asks]")) root.querySelector(".zones [role=radio][tabindex='0']")?.focus({ preventScroll: true });
    alone ? player.stop() : player.load();
    refresh();
    if (before) changed.push(...move(root, before));
    for (const mark of changed) mark.classList.add("is-changed");
    show();
  };
  const refresh = () => {
    project();
    player.seek();
    follow(root);
    show();
  };
  const project = () => {
    const on = Boolean(model.get("presenting"));
    present(root, on, model.get("with_code"));
    zoom = root.matches("[data-window]") ? fit(root, zoom) : undefined;
  };
  const refit = () => {
    zoom = undefined;
    project();
  };
  const leave = () => {
    model.set("presenting", false);
    model.save_changes();
    project();
  };
  const answered = () => {
    clearTimeout(waiting);
    waiting = null;
    root.classList.remove("is-busy");
    unanswered = Math.max(0, unanswered - (model.get("answers") - answers));
    answers = model.get("answers");
    if (!unanswered && !queued) player.settle();
    update(); // also when nothing changed: a refused entry goes back to what holds
    if (queued) {
      const latest = queued;
      queued = null;
      send(...latest);
    }
  };

  const show = listen(root, send, leave, (element) => player.walk(element));
  const player = play(root, model, show, (act, step) => send(act, step, true, true));
  const heard = { "change:html": update, "change:presenting": update, "change:with_code": update, "change:answers": answered, "change:step": () => player.seek(), "msg:custom": (told) => player.receive(told) };
  update();
  requestAnimationFrame(project); // it could not be brought to the front before it was on the page
  for (const [name, hear] of Object.entries(heard)) model.on(name, hear);
  window.addEventListener("resize", refit);
  const stop = whenGone(model, gone);
  return () => {
    clearTimeout(waiting);
    player.stop();
    stop();
    window.removeEventListener("resize", refit);
    for (const [name, hear] of Object.entries(heard)) model.off(name, hear);
  };
}

/** Keep the current step of a large figure, and the current line, in sight, scrolling only them. */
function follow(root, measure = true) {
  const stage = root.matches("[data-window]") ? ".edu-stage:not(:has([data-follow]))" : ".edu-stage.tall";
  for (const view of root.querySelectorAll(`${stage}, [data-follow]`)) {
    const mark = [...view.querySelectorAll("[data-current]")].find((m) => m.getClientRects().length);
    if (mark) bring(view, within(view, view.getBoundingClientRect(), mark));
    locate(view, measure);
  }
}

export default { initialize, render };
