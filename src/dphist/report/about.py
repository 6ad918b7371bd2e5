"""What people say of a release, in the places of a page where it stands."""

from dataclasses import dataclass

from dphist.release.release import Release

_SHOWN = (
    ("dataset", "Data"),
    ("period", "Period"),
    ("owner", "Owner"),
    ("note", "Note"),
    ("date", "Date (UTC)"),
)


@dataclass(frozen=True, slots=True)
class About:
    """What people say of a release.

    Attributes
    ----------
    heads : what stands above the title: data and period.
    rows : everything, by name.
    cited : title, owner, data and day, for a citation; empty if none is given.
    date : UTC day of the release; None in files of earlier versions.
    """

    heads: list[str]
    rows: list[tuple[str, str]]
    cited: str
    date: str | None


def about_of(release: Release) -> About:
    """Return what people say of a release, and its day."""
    said = release.presentation.to_content()
    cited = [said[name] for name in ("owner", "title", "dataset", "date") if name in said]
    worded = any(name in said for name in ("owner", "title", "dataset"))
    return About(
        heads=[said[name] for name in ("dataset", "period") if name in said],
        rows=[(name, said[key]) for key, name in _SHOWN if key in said],
        cited=f"{', '.join(cited)}." if worded else "",
        date=said.get("date"),
    )
