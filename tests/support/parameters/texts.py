"""Texts that some parser of numbers takes, and a person might read as another number or none."""

# One of each kind; each parameter is tried with these, the reader itself with all.
SOME = ["1_0", "\u0661", "\uff11", " 1", "1 ", "0x1", "1e0_1", "infinity", "nan", "1,0", ""]
NO_NUMBERS = [
    *SOME,
    *("1__0", "0b1", "0o7", "0x1p-3", "1f", "1L", "1j", "1%", "\u00bd", "1\u0660", "\u2160"),
    *("1\n", "\t1", "1\u00a0", "1 /2", "1/ 2", "1/-2", "1/0", "1/2/3", "0.5/2", "1/0.5", "\u22121"),
    *(".", "+", "-", "+-1", "--1", "1e", "e1", "1e1.5", "1.2.3", "(1)", "'1'", "1;", "True"),
    *("NaN", "inf", "-inf", "Infinity", "1e999999999", "1e-500", "9" * 5000, f"1/{'9' * 5000}"),
]
HALVES = ["0.5", ".5", "5e-1", "+0.50", "50.E-2", "1/2", "+2/4"]
NO_WHOLE_NUMBERS = [*NO_NUMBERS, *HALVES, "1.0", "1e1", "2/1"]
