"""Sessions of Spark for the conformance suite: one kind a process, as Spark allows no more."""

import os
import shlex
import sys
from functools import cache
from typing import Any

KIND = "DPHIST_SPARK_SESSION"
"""Environment variable that names the kind of session for `test_conformance.py`."""

MASTERS = {
    "classic": "local[2,4]",  # two tasks at a time, each tried four times
    "executors": "local-cluster[2,1,512]",  # two processes of their own
    "connect": "local[2,4]",
    "no-python": "local[2,4]",  # the workers cannot start Python
}

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of a Java machine that lives for a minute."""

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.driver.memory": "1g",
    "spark.executor.memory": "512m",
    "spark.task.maxFailures": "4",
    # Executors start a task a second time as soon as it takes longer than the others.
    "spark.speculation": "true",
    "spark.speculation.interval": "10ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.minTaskRuntime": "1ms",
    "spark.sql.shuffle.partitions": "3",
    # Small queries: code made for each, and compiled well, takes longer than they.
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.extraJavaOptions": QUICK,
    "spark.executor.extraJavaOptions": QUICK,
}


def kind() -> str:
    """Return the kind of this process's session."""
    return os.environ.get(KIND, "classic")


@cache
def session() -> Any:
    """Start the session of this process, or return it."""
    own = kind()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = "/bin/false" if own == "no-python" else sys.executable
    # Given to the machine before it starts: a session of Connect may not set most of them.
    given = " ".join(
        f"--conf {shlex.quote(f'{name}={value}')}" for name, value in _SETTINGS.items()
    )
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{given} pyspark-shell"
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    if own == "connect":
        return builder.remote(MASTERS[own]).getOrCreate()
    return builder.master(MASTERS[own]).appName("dphist-conformance").getOrCreate()
