"""Reads topics to their present end, decodes each message with the schema registry, and prints it as a line of JSON.

usage: read_topics.py BROKERS REGISTRY_URL TOPIC...
"""

import base64
import datetime
import json
import sys
import uuid

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

brokers, registry_url, *topics = sys.argv[1:]
registry = SchemaRegistryClient({"url": registry_url})
deserialize = AvroDeserializer(registry)
consumer = Consumer({"bootstrap.servers": brokers, "group.id": "none", "enable.auto.commit": False})


def readable(value):
    if isinstance(value, dict):
        return {name: devices(member) if name == "devices" else readable(member) for name, member in value.items()}
    if isinstance(value, list):
        return [readable(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime.datetime):
        return round(value.timestamp() * 1000)
    return value


def devices(values):
    # fastavro does not know UUIDs of 16 bytes yet.
    return [str(value if isinstance(value, uuid.UUID) else uuid.UUID(bytes=value)) for value in values]


def decoded(message):
    try:
        value = deserialize(message.value(), SerializationContext(message.topic(), MessageField.VALUE))
    except Exception as error:
        return {"error": str(error)}
    schema = registry.get_schema(int.from_bytes(message.value()[1:5], "big"))
    return {"type": json.loads(schema.schema_str)["name"], "value": readable(value)}


ends = {}
for topic in topics:
    for partition in consumer.list_topics(topic, 60).topics[topic].partitions:
        first, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), 60)
        if end > first:
            ends[topic, partition] = end
consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for topic, partition in ends])
while ends:
    message = consumer.poll(1)
    if message is None:
        continue
    if message.error():
        sys.exit(str(message.error()))
    place = message.topic(), message.partition()
    if message.offset() + 1 >= ends.get(place, 0):
        ends.pop(place, None)
    line = {"topic": message.topic(), "raw": base64.b64encode(message.value()).decode(), **decoded(message)}
    print(json.dumps(line))
