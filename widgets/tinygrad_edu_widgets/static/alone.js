// What a widget is without a kernel: the picture of the last run, and nothing that could be pressed. The kernel may end
// while the page is open; or the notebook is opened again later, and then the pictures come from the saved file.

const LAST_RUN = "The figure shows the last run.";
const NOTHING_YET = "Nothing has run yet."; // where a prediction is awaited
const BACK_AGAIN = "To use its controls, run the cell again.";
const WIDGET_STATE = "application/vnd.jupyter.widget-state+json"; // where Jupyter looks for widgets in a notebook's metadata
const ALBUM = "tinygrad_edu-pictures"; // the one widget there that is ours: it holds the pictures of all others
const VIEW = "application/vnd.jupyter.widget-view+json"; // and in an output: which widget it is
const KEPT = Symbol.for("tinygrad_edu.pictures");
const ENDED = ["restarting", "autorestarting", "terminating", "dead"]; // of a kernel: it has forgotten its widgets

/** The inside of a widget as it is without a kernel. Python's `Frame.html(live=False)` says the same. */
function still(html) {
  const made = document.createElement("section");
  made.innerHTML = html;
  for (const area of made.querySelectorAll("textarea")) {
    const code = document.createElement("pre");
    code.textContent = area.value;
    area.replaceWith(code);
  }
  for (const one of made.querySelectorAll("[role=switch]")) {
    const words = document.createElement("span");
    words.textContent = `${one.textContent}: ${one.getAttribute("aria-checked") === "true" ? "on" : "off"}`;
    one.replaceWith(words);
  }
  const controls = ".edu-controls, .edu-begin, .edu-progress, .edu-nav, .edu-tip, .edu-status, button, input, select";
  for (const one of made.querySelectorAll(controls)) one.remove();
  made.querySelector(".edu-board")?.classList.add("alone");
  for (const one of made.querySelectorAll("[data-act], [data-link], [data-draw], [role=alert], [role=status], .edu-stage")) {
    for (const { name } of [...one.attributes]) if (/^(data-|aria-label$|role$|tabindex$)/.test(name)) one.removeAttribute(name);
  }
  for (const figure of made.querySelectorAll("svg[role=group]")) figure.setAttribute("role", "img");
  const foot = made.querySelector(".edu-foot");
  if (foot && !foot.querySelector(".edu-last")) {
    const note = document.createElement("span");
    note.className = "edu-last";
    note.textContent = `${made.querySelector("[data-waiting]") ? NOTHING_YET : LAST_RUN} ${BACK_AGAIN}`;
    foot.querySelector("details")?.before(note);
  }
  return made.innerHTML;
}

/** Call `gone` once the kernel cannot answer this widget any more: also at once, if none ever could. */
function whenGone(model, gone) {
  const manager = model.widget_manager;
  let over = false;
  const end = () => {
    if (!over) gone();
    stop();
  };
  let check = () => {};
  const listen = (_, status) => ENDED.includes(status) && end();
  const changed = (_, { newValue }) => newValue !== kernel && end();
  const kernel = manager?.kernel; // undefined outside Jupyter's own applications, where the comm has to tell
  const session = manager?.context?.sessionContext;
  const stop = () => {
    over = true;
    model.off("comm_live_update", check);
    kernel?.statusChanged?.disconnect(listen);
    session?.kernelChanged?.disconnect(changed);
  };
  manager?.get_model?.(model.get("key"))?.then((whole) => {
    check = () => whole.comm_live === false && end();
    if (over) return;
    model.on("comm_live_update", check);
    check();
  }, end);
  kernel?.statusChanged?.connect(listen);
  session?.kernelChanged?.connect(changed);
  return stop;
}

/** Have this widget's picture saved with the notebook, so that there is something to show when it is opened again.
 *  Jupyter saves that an output is a widget, but not which, and says "model not found" to the next reader. The pictures
 *  stand in the metadata under a name of their own: under the widgets' names, converters would take them for live ones,
 *  and show nothing where scripts or the network are missing, instead of the picture in the output. */
function keepPicture(model) {
  const manager = model.widget_manager;
  const context = manager?.context;
  if (!context?.saveState?.connect || !context.model?.setMetadata) return; // not a notebook of JupyterLab's kind
  const first = !manager[KEPT];
  const kept = (manager[KEPT] ??= new Map());
  kept.set(model.get("key"), () => ({ html: still(pageNow(model)), label: model.get("label") }));
  if (first) context.saveState.connect((_, stage) => stage === "started" && store(context.model, kept, model));
}

function store(notebook, kept, model) {
  const cells = JSON.stringify(notebook.toJSON().cells);
  const pictures = Object.fromEntries([...kept].filter(([key]) => cells.includes(key)).map(([key, picture]) => [key, picture()]));
  const widgets = notebook.getMetadata("widgets") ?? {};
  const { state = {} } = widgets[WIDGET_STATE] ?? {};
  const { [ALBUM]: before, ...others } = state;
  if (Object.keys(pictures).length) others[ALBUM] = asModel(model, { pictures });
  else if (!before) return;
  notebook.setMetadata("widgets", { ...widgets, [WIDGET_STATE]: { version_major: 2, version_minor: 0, state: others } });
}

/** A widget for Jupyter to restore, with the code and the style of this one. */
function asModel(model, state) {
  const own = Object.fromEntries(["_esm", "_css", "_anywidget_id", "_model_module_version"].map((name) => [name, model.get(name)]));
  const kind = { model_name: "AnyModel", model_module: "anywidget", model_module_version: own._model_module_version };
  const view = { _model_name: "AnyModel", _model_module: "anywidget", _view_name: "AnyView", _view_module: "anywidget" };
  return { ...kind, state: { ...view, ...own, _view_module_version: own._model_module_version, ...state } };
}

/** Show the saved pictures where their widgets are missing. A widget whose kernel still runs is there, and stays. */
function restorePictures(model) {
  const manager = model.widget_manager;
  for (const [key, picture] of Object.entries(model.get("pictures"))) {
    if (manager.has_model(key)) continue;
    const { state, ...kind } = asModel(model, { ...picture, key, presenting: false, answers: 0 });
    manager.new_model({ ...kind, model_id: key }, state);
    showAgain(manager, key);
  }
}

/** JupyterLab waits two seconds for a widget and then says "model not found" for good. Where the machine is slow, that
 *  is too early: draw the output once more. */
function showAgain(manager, key) {
  const told = () => [...document.querySelectorAll(".jp-OutputArea-output.jupyter-widgets")].some(
    ({ textContent }) => textContent.startsWith("Error displaying widget"),
  );
  const look = () => {
    if (!told()) return;
    for (const { outputs } of manager.context?.model?.cells ?? []) {
      for (let place = 0; place < (outputs?.length ?? 0); place++) {
        const output = outputs.get(place).toJSON();
        if (output.data?.[VIEW]?.model_id === key) outputs.set(place, output);
      }
    }
  };
  look();
  setTimeout(look, 300); // who has just looked in vain, looks again after 100 ms
}
