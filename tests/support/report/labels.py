"""Labels that would break a page."""

HOSTILE = [
    "<script>alert('x')</script>",
    '"&quot;<b>',
    "\x1b[2J\x1b]0;owned\x07",
    "line\nbreak\ttab\r",
    "$x_{1}$ and $",
    "\u202eright to left",
    "\x00null",
    "\ud7ff\ue000\ufffe",
    "界" * 90,
    "x" * 5000,
    "",
    "=1+1",
]
