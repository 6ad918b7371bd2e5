"""Text of a disclosure that is shown as it is."""


class Verbatim(str):
    """Text that is no sentence of the library: a released label, or words of a person."""

    __slots__ = ()
