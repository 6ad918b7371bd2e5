"""The messages of one partition of a Kafka topic, one a line, from its first to its latest.

    python kafka_lines.py localhost:9092 sales 0 | dphist stream --state sales.state --resume ...

Needs `pip install confluent-kafka`. Each run reads the partition from its beginning, and `--resume`
skips what the state has counted, so a run that was killed is repeated as it is. The topic must keep
its messages, and not compact them: an event that is gone would shift all that follow.
"""

import sys

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition


def main(servers: str, topic: str, partition: str) -> None:
    """Write all messages that the partition has now."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "dphist",  # no offset is committed: the state of the stream knows its place
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    place = TopicPartition(topic, int(partition), OFFSET_BEGINNING)
    first, _ = consumer.get_watermark_offsets(place, timeout=30)
    if first:
        sys.exit(f"{topic}: its first {first:,} messages are gone, so events cannot be matched")
    consumer.assign([place])
    while True:
        message = consumer.poll(30)
        error = None if message is None else message.error()
        if error and error.code() == KafkaError._PARTITION_EOF:
            break
        if message is None or error:
            sys.exit(f"{topic}: {error or 'nothing came for 30 seconds'}")
        print((message.value() or b"").decode().replace("\n", " "))
    consumer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
