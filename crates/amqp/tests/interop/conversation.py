"""Proton for Python as its guides show it: blocking, with links that it names itself."""

import sys

from proton import ConnectionException, Message
from proton.utils import BlockingConnection

URL = "amqp://" + sys.argv[1]

connection = BlockingConnection(URL, timeout=30)
# Both links get the name of the connection's container and address, so they have one name.
receiver = connection.create_receiver("x")
sender = connection.create_sender("x")
sender.send(Message(body="hello", properties={"color": "red", "size": 3}))
message = receiver.receive(timeout=30)
assert message.body == "hello", message
assert message.properties == {"color": "red", "size": 3}, message
receiver.accept()

# Longer than a frame, both ways.
long = bytes(range(256)) * 2000
sender.send(Message(body=long))
message = receiver.receive(timeout=30)
assert bytes(message.body) == long, len(message.body)
receiver.accept()

# Released messages come again.
sender.send(Message(body={"again": [1, 2.5, None, True]}))
receiver.receive(timeout=30)
receiver.release()
message = receiver.receive(timeout=30)
assert message.body == {"again": [1, 2.5, None, True]}, message
receiver.accept()
for number in range(300):
    sender.send(Message(body=number))
for number in range(300):
    assert receiver.receive(timeout=30).body == number
    receiver.accept()
receiver.close()
sender.close()
connection.close()

right = BlockingConnection(URL, timeout=30, user="ann", password="tulip", allowed_mechs="PLAIN")
right.create_sender("y").send(Message(body="nobody listens"))
right.close()
try:
    BlockingConnection(URL, timeout=30, user="ann", password="rose", allowed_mechs="PLAIN")
except ConnectionException as error:
    assert "auth" in str(error).lower(), error
else:
    raise AssertionError("expected a wrong password to be refused")
print("done")
