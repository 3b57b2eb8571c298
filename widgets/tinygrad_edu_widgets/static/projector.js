// A widget before an audience: it fills the window, at the largest type at which nothing has to be scrolled.

const LEAST_ZOOM = 1.05; // below it, rather scroll a larger figure
const SCROLLING_ZOOM = 1.25;
const LEAST_STAGE = 200; // pixels of a figure that scrolls
const MOST_ZOOM = 2.4;
const WIDE_FRAME = 860; // the room that a wide figure takes with its margins, and a narrow one
const NARROW_FRAME = 480;

/** The widget in front of everything else on the page, or back in its place. */
function present(root, on, withCode) {
  root.toggleAttribute("data-present", on);
  root.toggleAttribute("data-window", on && !withCode);
  if (!on) {
    if (root.matches("[popover]")) root.hidePopover?.();
    root.removeAttribute("popover");
    root.style.removeProperty("--edu-zoom");
  } else if (!withCode && !root.matches("[popover]") && root.isConnected) {
    root.setAttribute("popover", "manual"); // the top layer: no toolbar and no scrolled cell clips it
    root.showPopover?.();
    root.focus({ preventScroll: true });
  }
}

/** The largest zoom up to `most` at which all is seen. A figure too large for any scrolls within its place. */
function fit(root, most) {
  const room = root.clientWidth;
  const frame = room >= WIDE_FRAME ? WIDE_FRAME : NARROW_FRAME;
  const full = (part) => part && (part.scrollHeight > part.clientHeight + 1 || part.scrollWidth > part.clientWidth + 1);
  const stage = () => root.querySelector(".edu-body > .edu-stage, .edu-board, .edu-desk");
  const fits = () => !full(stage()) && !full(root.firstChild);
  const enough = () => !full(root.firstChild) && stage().clientHeight >= Math.min(stage().scrollHeight, LEAST_STAGE);
  const largest = (least, good) => {
    for (let zoom = Math.min(most ?? MOST_ZOOM, room / frame); zoom >= least; zoom -= 0.04) {
      root.style.setProperty("--edu-zoom", zoom.toFixed(2));
      if (good()) return zoom;
    }
    return undefined;
  };
  const found = largest(LEAST_ZOOM, fits);
  if (found) return found;
  most = Math.min(most ?? SCROLLING_ZOOM, SCROLLING_ZOOM);
  return largest(0.5, enough);
}

const ONWARD = ["ArrowRight", "ArrowDown"];
const BACK = ["ArrowLeft", "ArrowUp"];

/** What a remote control's key presses: the next or the last step; else what the question asks to be done next. */
function remote(root, key) {
  const button = (keys) => keys.map((one) => root.querySelector(`button[data-key="${one}"]:not(:disabled)`)).find(Boolean);
  if (key === "PageUp") return button(BACK);
  if (key === "PageDown") return button(ONWARD) ?? root.querySelector("button.main:not(:disabled)");
  return undefined;
}
