"""Amounts: what goes in. Secret."""

from pathlib import Path


class Amounts:
    """Whole numbers from 0 to a public maximum, to which larger ones are cut.

    Attributes
    ----------
    total, records : sum and number of the amounts. Secret.
    most : the maximum.
    unit : whom the data protect; None for records by themselves.
    sensitivity : maximum number of amounts of one such unit.
    """

    def __init__(self, amounts: list[int], most: int) -> None:
        self.total, self.records = sum(min(max(each, 0), most) for each in amounts), len(amounts)
        self.most, self.sensitivity, self.unit = most, 1, None

    def __repr__(self) -> str:
        return f"Amounts(most={self.most})"

    @classmethod
    def read(cls, path: str, most: int) -> "Amounts":
        """Read a file of one amount a line."""
        return cls([int(line) for line in Path(path).read_text().split()], most)
