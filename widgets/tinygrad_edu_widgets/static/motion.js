// Motion after an act: what has another place glides there, what has another content is marked. Nothing else moves, and
// with reduced motion nothing does: then what changed keeps an outline until the next act.

const STEP = { duration: 240, easing: "cubic-bezier(.2, 0, 0, 1)" };

const MOST_MARKS = 500; // beyond these, to measure them would take longer than the motion is worth

/** Every mark that can be told from the others, by its name: where it is, and what it says. */
function marks(root) {
  const found = new Map();
  for (const svg of root.querySelectorAll(".edu-stage svg")) {
    if (!svg.getClientRects().length) continue; // the form for another width
    if (svg.querySelectorAll("[data-act][data-value], [data-link]").length > MOST_MARKS) continue;
    const frame = svg.getBoundingClientRect();
    const scale = frame.width / svg.width.baseVal.value || 1; // on the page, one unit of the figure
    const count = new Map();
    for (const mark of svg.querySelectorAll("[data-act][data-value], [data-link]")) {
      const { act, value, link } = mark.dataset;
      const name = [act, value, link].join(" ");
      const nth = (count.get(name) ?? 0) + 1;
      count.set(name, nth);
      const box = mark.getBoundingClientRect();
      const says = mark.textContent;
      found.set(`${name} ${nth}`, { mark, x: (box.x - frame.x) / scale, y: (box.y - frame.y) / scale, says });
    }
  }
  return found;
}

/** Let what changed since `before` be seen. With reduced motion it returns the marks to outline. */
function move(root, before) {
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const changed = [];
  for (const [name, now] of marks(root)) {
    const then = before.get(name);
    if (!then) continue;
    const [dx, dy] = [then.x - now.x, then.y - now.y];
    const moved = Math.hypot(dx, dy) > 1;
    if (calm && (moved || then.says !== now.says)) changed.push(now.mark);
    else if (moved && now.mark.matches("g, text")) now.mark.animate([{ translate: `${dx}px ${dy}px` }, { translate: "0 0" }], STEP);
    else if (then.says !== now.says) now.mark.animate([{ opacity: 0.2 }, { opacity: 1 }], STEP);
  }
  return changed;
}
