"""Why the predictions of lesson 1 come out as they do: for each choice the reason why it is right, or why not."""

from __future__ import annotations

ARRAYS: dict[str, str | dict[str, str]] = {
    "report_slice": {
        "73.4": "“A slice is a copy” is a common misconception: it is true of Python's lists. Here the first call "
        "wrote °F into the table.",
        "105.4": "Only the 32 would be added again. But the first line of the function runs again, too.",
        "164.1": "`celsius[0:2]` reads **the bytes of `celsius`**, so the second call converts °F once more.",
        "an error": "Nothing is out of range, and nothing forbids `*=` to write into `rows`.",
    },
    "address_turned": {
        "8": "It would be there in a copy, stored row after row: “a transpose moves numbers” is wrong.",
        "12": "That is 4 + 0 · 16 + 2 · 4, with the strides of `x`. Those of `u` are swapped.",
        "32": "That is 0 · 4 + 2 · 16. The offset is missing: `u` begins with the second column.",
        "36": "`u` begins at byte 4, with the strides of `x` **in the other order**: 4 + 0 · 4 + 2 · 16 = 36.",
    },
    "alive": {
        "0 bytes": "`del` removes a name, not a buffer. A buffer is freed when no tensor holds it.",
        "12 bytes": "“A small slice is small”: the tensor is. Its buffer is not, and cannot be freed in parts.",
        "40 000 000 bytes": "A view holds its **whole buffer**, and no usual operation frees a part of one.",
    },
    "stride": "Memory comes in **lines of 64 bytes**: up to step 16 every line is fetched, for one number or for all.",
    "break_even": {
        "1": "To make the copy, the columns are read once. A single use without it reads them once, too.",
        "2": "The copy reads down the columns **once**, and without it each use does. So two uses can pay for it.",
        "4": "Four uses save three slow readings. Fewer are enough if one or two repay the bytes written.",
        "never": "“A copy is only extra work”: it is, once. But each use after that reads its numbers in order.",
    },
    "copy_first": {
        "faster": "“Contiguous is faster” holds for many uses. This sum uses the copy once, and making it is work.",
        "no clear difference": "The copy is work that the sum does not need. Only runs that vary by more can hide it.",
        "slower": "A sum may add in any order, so it **follows the order of the bytes**; the copy is extra work.",
    },
    "transposed": "**Just as long**: only the strides change places, and no byte is read or moved.",
    "worth_it": "Whether the use **follows the order of the bytes** anyway, and how many uses share the one copy.",
    # further
    "list_add": {
        "0": "`x[[0, 2]]` alone is a copy. But this line has a third step after the addition.",
        "10": "Python ends the line with `x[[0, 2]] = …`: the copy is **stored back** into `x`.",
        "20": "The addition happens once, in the copy.",
    },
    "repeats": {
        "[0, 0, 0]": "The copy is stored back: the line ends with `counts[[0, 0, 2]] = …`.",
        "[1, 0, 1]": "The copy holds place 0 twice, each time 0 + 1, and **both are stored** in the same place.",
        "[2, 0, 1]": "Both copies of place 0 began at 0. Neither addition sees the other.",
    },
    "reshape": {
        "0 bytes": "For that, one step would lead from each number to the next: 0, 3, 1, 4, 2, 5 has none.",
        "4 bytes": "A copy of one number would not do: all six have to lie in the new order.",
        "24 bytes": "Column order has **no single stride** over the bytes of `m`, so all six numbers are copied.",
    },
}
