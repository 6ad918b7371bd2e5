"""Labels that a spreadsheet would take for formulas, and others."""

WORDS = ["tea", "a=b", "Grüße", "weiß-nicht", "x, y", 'say "=x"', "May"]
OTHERS = [
    *('=HYPERLINK("http://x.y","z")', "+1", "-1+2", "@SUM(A1)", "\t=1", "\r=1", "\n1", " =1"),
    *("\ufeff=1", "\u200b@x", "\uff1d1", "\uff0bx", "\u2212x", "=", "'=1", "'a", "-", ""),
    *("00012", "1", "-5", "1E5", "2024-01-01", "1/2", "MARCH1", "Jan 1", "\uff11", "(5)", "$x"),
]
# Where another separator is expected, a part of a label begins a cell.
PARTS = [
    *(
        "x;=1+1",
        "x;=1+1;y",
        "a\t@x",
        "a\n=1\n",
        'a;"=1+1"',
        'a;"=1&"',
        "x;",
        ";",
        "x;'y",
        "a\r\n=1",
    ),
    *("a,=1;b", '";=1;"', 'x";=1'),
]
