"""The example for dbt, run as users run it; `make release-check` runs the others as well."""

from pathlib import Path

import pytest
from releasing.running import ROOT

from releasing import schedulers


@pytest.mark.verify
def test_a_model_of_dbt_that_is_built_again_pays_once(tmp_path: Path) -> None:
    assert schedulers.check_example("dbt", ROOT, tmp_path).startswith("dbt: one charge")


def test_every_example_has_a_run() -> None:
    assert set(schedulers.NEEDS) == set(schedulers._RUNS)
