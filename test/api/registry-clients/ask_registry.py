"""Asks the schema registry with confluent-kafka's client what it can be asked, and prints the answers as JSON.

usage: ask_registry.py REGISTRY_URL SUBJECT
"""

import json
import sys

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

url, subject = sys.argv[1:]
registry = SchemaRegistryClient({"url": url})
latest = registry.get_latest_version(subject)


def code_of(call):
    try:
        call()
    except SchemaRegistryError as error:
        return error.error_code


print(
    json.dumps(
        {
            "subjects": registry.get_subjects(),
            "versions": registry.get_versions(subject),
            "latest": [latest.subject, latest.version, latest.schema_id],
            "schema": json.loads(registry.get_schema(latest.schema_id).schema_str)["name"],
            "types": registry.get_schema_types(),
            "found_in": registry.get_subjects_by_schema_id(latest.schema_id),
            "compatibility": [registry.get_compatibility(), registry.get_compatibility(subject)],
            "mode": [registry.get_global_mode(), registry.get_mode(subject)],
            "errors": {
                "subject": code_of(lambda: registry.get_latest_version("unknown")),
                "version": code_of(lambda: registry.get_version(subject, 99)),
                "schema": code_of(lambda: registry.get_schema(99)),
                "register": code_of(lambda: registry.register_schema(subject, Schema('"string"', "AVRO"))),
                "delete": code_of(lambda: registry.delete_subject(subject)),
                "compatibility": code_of(lambda: registry.set_compatibility(level="NONE")),
            },
        }
    )
)
