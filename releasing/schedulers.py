"""The examples for dbt, Airflow and Dagster, each run twice in an environment of its own.

The second run is for the same day: it must give the same release, and the ledger one charge.
"""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from releasing.running import ROOT, CheckError, environment, run

DAY = "2026-11-02"
NEEDS = {
    "dbt": ("dbt-core==1.10.*", "dbt-duckdb==1.10.*", "pandas"),
    "dagster": ("dagster==1.13.*", "dagster-webserver==1.13.*"),
    "airflow": ("apache-airflow==3.3.*",),
}
"""What each example was run with. Later versions of dbt download while they are installed."""


def check_example(name: str, package: str | Path, folder: Path) -> str:
    """Run an example twice.

    Parameters
    ----------
    name : of the scheduler.
    package : the wheel, or a checkout.
    folder : for the environment, the ledger and all that is written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    programs = environment(folder / "environment", str(package), *NEEDS[name])
    shutil.copy(ROOT / "data/items_online_retail.parquet", folder / "purchases.parquet")
    unit = ("--unit", "one customer", "--epsilon", "2", "--delta", "1e-6")
    ledger = folder / "shop.ledger"
    run(programs / "dphist", "ledger", "create", ledger, *unit, cwd=folder)
    first, again = (_RUNS[name](programs, folder) for _ in range(2))
    if first != again:
        raise CheckError(f"the second run of {name} made another release")
    log = run(programs / "dphist", "ledger", "log", ledger, cwd=folder)
    if log.count("  charged  ") != 1:
        raise CheckError(f"{name} was charged otherwise than once:\n{log}")
    return f"{name}: one charge, {len(first):,} characters"


def _run_dbt(programs: Path, folder: Path) -> str:
    project = folder / "dbt"
    shutil.copytree(ROOT / "examples/dbt", project, dirs_exist_ok=True)
    places = f"ledger: {folder / 'shop.ledger'}, purchases: {folder / 'purchases.parquet'}"
    run(
        *(programs / "dbt", "build", "--vars", f"{{run_date: {DAY}, {places}}}"),
        cwd=project,
        env={"DBT_PROFILES_DIR": str(project)},
    )
    code = "import duckdb; print(*duckdb.connect('shop.duckdb').sql('{}').fetchall(), sep='\\n')"
    query = "from items_released order by all"
    return run(programs / "python", "-c", code.format(query), cwd=project)


def _run_dagster(programs: Path, folder: Path) -> str:
    example = ROOT / "examples/dagster_release.py"
    asked = ("--select", "items_released", "--partition", DAY)
    home = folder / "dagster"
    home.mkdir(exist_ok=True)
    run(
        *(programs / "dagster", "asset", "materialize", "-f", example, *asked),
        cwd=folder,
        env={**_places(folder), "DAGSTER_HOME": str(home)},
    )
    return (folder / f"releases/items-{DAY}.json").read_text()


def _run_airflow(programs: Path, folder: Path) -> str:
    home = folder / "airflow"
    (home / "dags").mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "examples/airflow_release.py", home / "dags")
    known = _places(folder) | {"AIRFLOW_HOME": str(home), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    for words in (
        ("db", "migrate"),
        ("dags", "reserialize"),
        ("dags", "test", "shop_releases", DAY),
    ):
        run(programs / "python", "-m", "airflow", *words, cwd=folder, env=known)
    return (folder / f"releases/items-{DAY}.json").read_text()


def _places(folder: Path) -> dict[str, str]:
    return {
        "LEDGER": str(folder / "shop.ledger"),
        "PURCHASES": str(folder / "purchases.parquet"),
        "RELEASES": str(folder / "releases"),
    }


_RUNS: dict[str, Callable[[Path, Path], str]] = {
    "dbt": _run_dbt,
    "dagster": _run_dagster,
    "airflow": _run_airflow,
}


def check_all(wheel: Path, folder: Path) -> str:
    """Run all examples with a wheel."""
    return "; ".join(check_example(name, wheel, folder / name) for name in NEEDS)


if __name__ == "__main__":
    print(check_example(sys.argv[1], ROOT, Path(sys.argv[2]).resolve()))
