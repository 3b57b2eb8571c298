"""What a person would notice at a glance: text that is cut off, or that runs into other text."""

from __future__ import annotations

from playwright.sync_api import Page

SIZES = {"wide": (1280, 720), "half": (640, 720), "zoom": (640, 360)}  # 200 % zoom is half the room in CSS pixels

# Boxes of visible text inside widgets. A figure that scrolls is compared in its own coordinates, so that what lies
# outside the visible part counts as reachable, not as cut off.
FAULTS = """() => {
  const faults = [];
  for (const root of document.querySelectorAll('.edu')) {
    const name = root.getAttribute('aria-label');
    const outer = root.getBoundingClientRect();
    if (!outer.width) continue;
    const stage = root.querySelector('[data-follow]') ?? root.querySelector('.edu-stage');
    const shown = (e) => e.getClientRects().length > 0 && e.checkVisibility({ visibilityProperty: true });
    const texts = [...root.querySelectorAll('svg text')].filter((t) => shown(t) && t.textContent.trim());
    const boxes = texts.map((t) => ({ t, b: t.getBoundingClientRect(), svg: t.ownerSVGElement }));
    for (const { t, b, svg } of boxes) {
      const limit = svg.closest('.edu-stage') ? svg.getBoundingClientRect() : null;
      const scrolls = stage
        && (stage.scrollWidth > stage.clientWidth + 1 || stage.scrollHeight > stage.clientHeight + 1);
      const leaves = (l) =>
        b.left < l.left - 2 || b.right > l.right + 2 || b.top < l.top - 2 || b.bottom > l.bottom + 2;
      if (limit && leaves(limit))
        faults.push(`${name}: "${t.textContent}" leaves its figure`);
      if (!scrolls && (b.right > outer.right + 1 || b.left < outer.left - 1))
        faults.push(`${name}: "${t.textContent}" is cut off`);
    }
    for (let i = 0; i < boxes.length; i++)
      for (let j = i + 1; j < boxes.length; j++) {
        const a = boxes[i].b, c = boxes[j].b;
        if (boxes[i].svg !== boxes[j].svg) continue;
        const w = Math.min(a.right, c.right) - Math.max(a.left, c.left);
        const h = Math.min(a.bottom, c.bottom) - Math.max(a.top, c.top);
        if (w > 2 && h > 4) faults.push(`${name}: "${boxes[i].t.textContent}" runs into "${boxes[j].t.textContent}"`);
      }
    for (const e of root.querySelectorAll('h3, p, button, .field, .scrub, .edu-foot span, summary')) {
      if (!shown(e)) continue;
      const b = e.getBoundingClientRect();
      const what = `${name}: <${e.localName}> "${e.textContent}"`;
      if (b.right > outer.right + 1 || b.left < outer.left - 1) faults.push(`${what} is cut off`);
      if (e.scrollWidth > e.clientWidth + 2 && e.matches('button, .scrub')) faults.push(`${what} is too narrow`);
    }
    const parts = '.edu-ask, .edu-stage, .edu-tip, .edu-controls, .edu-why, .edu-foot';
    const blocks = [...root.querySelectorAll(parts)].filter(shown);
    blocks.slice(1).forEach((e, i) => {
      if (e.getBoundingClientRect().top < blocks[i].getBoundingClientRect().bottom - 1)
        faults.push(`${name}: ${e.className} overlaps ${blocks[i].className}`);
    });
  }
  return faults;
}"""


def faults(page: Page) -> list[str]:
    """Every place where text in a widget is cut off or overlaps. Empty when all is well."""
    return list(page.evaluate(FAULTS))
