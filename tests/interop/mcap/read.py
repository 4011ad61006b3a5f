"""Prints the messages of an MCAP file as lines of JSON, and then what else is in it."""

import json
import sys

from mcap.reader import make_reader

with open(sys.argv[1], "rb") as file:
    reader = make_reader(file, validate_crcs=True)
    times = []
    texts = set()
    for schema, channel, message in reader.iter_messages(log_time_order=False):
        times.append(message.log_time)
        texts.add(schema.data.decode())
        print(json.dumps({
            "topic": channel.topic,
            "sequence": message.sequence,
            "data": message.data.hex(),
            "encoding": channel.message_encoding,
            "schema": [schema.name, schema.encoding],
        }))
    lost = {}
    for record in reader.iter_metadata():
        if record.name == "floe.lost":
            lost.update(record.metadata)
    print(json.dumps({
        "text": "".join(texts),
        "lost": lost,
        "count": reader.get_summary().statistics.message_count,
        "is_in_order": times == sorted(times),
    }))
