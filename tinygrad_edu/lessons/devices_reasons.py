"""Why the predictions of lesson 5 come out as they do: for each choice the reason why it is right, or why not."""

from __future__ import annotations

DEVICES: dict[str, str | dict[str, str]] = {
    "waits_for": {
        "commands from the host": "There are about a dozen for each batch, of 5 µs each (assumed). Something else "
        "takes more than ten times as long.",
        "copies to the device": "Each batch **brings all weights again**, 3 MB (counted), and while the host is busy "
        "with that, it asks for nothing else.",
        "counts read by the host": "That is one wait for each batch, and short, because little is left to do by then.",
    },
    "queue_clock": {
        "the whole work": "The products were still in the queue when the clock was read again.",
        "the first product only": "The second call asks for the second product; it does not wait for the first.",
        "only the launches": "**A call returns once its work is in the queue.** Two launches are measured; neither "
        "product has to be finished.",
    },
    "which_values": {
        "the new batch": "For that, the product would have to wait for the copy, and nothing in the program says so.",
        "whatever is there at that moment": "**Nothing orders the product after the copy**: here it reads the old "
        "batch; a real GPU may give old, new or mixed values.",
        "none: it is an error": "A real GPU gives no error. The simulated one does unless it is told not to, as here.",
    },
    "many_copies": {
        "about as long": "“Same bytes, same time”? Each copy also costs 8 µs (assumed), however small it is.",
        "about 5 times as long": "The bytes take 0.2 ms (computed). Compare that with a thousand times 8 µs.",
        "about 40 times as long": "**Each copy costs 8 µs** before the first byte moves: 8 ms in all.",
    },
    "pin_once": {
        "quicker": "“Always pin”, many guides say. It holds for the copy alone: pinning takes time, too.",
        "as quick": "The copy saves 0.12 ms (simulated). Pinning 256 pages, and filling them, takes longer.",
        "slower": "**Pinning locks pages and copies the bytes there**: 0.44 ms; it saves 0.12. Ten batches: 1.86 ms "
        "instead of 2.18, as pages are kept (simulated).",
    },
    "worth_a_device": {
        "about 20": "The host has finished a 20 × 20 product before the first byte has moved.",
        "about 200": "From 172. The work grows with n³, and the bytes with n², **so the device wins once n is large "
        "enough**.",
        "about 2,000": "There the host needs 160 ms, and the copies only 10 (computed).",
    },
    "next_launch": "For 3 µs: **each kernel is done before the next is launched**, so the queue is empty. With 20 µs "
    "up to three wait.",
    "longest_gap": "In the longest the host **copies a batch, its labels and a weight**; in those four, a weight. "
    "The queue is empty.",
    "beside": "Both with *ahead*: even while the host is busy with a copy from ordinary memory, **the device works on "
    "what was launched before**.",
    "free_wait": "Most after a batch's last product: **the next copy is asked for only then**. Hardly anything in the "
    "last batch, where no copy is left.",
    "order": "`wait_stream` holds back **the other stream, not the host**, which goes on launching.",
    "addition": "**Never**: copying three numbers takes 2.4 ns (computed); a host adds two in about 0.3 ns, at "
    "40 · 10⁹ bytes a second (assumed).",
    "twelve": "Computing takes longer than copying, so **hiding copies gains more than quicker copies**: 2.22 ms "
    "ahead, 2.38 pinned. At depth 3: 1.07, 0.89 (simulated).",
    "both_on": "The longer of copying and computing, **as the other runs beside it**, plus the first copy, beside "
    "which nothing can run.",
}
