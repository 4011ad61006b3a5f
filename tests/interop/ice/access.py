"""An unmodified Ice for Python program that shows an event service who it is, and says what that lets it do.

Usage: access.py hub MANAGER TOPIC TOKEN [ICE OPTIONS]
       access.py trust FOLDER IDENTITY TEXT...

`hub` creates a topic and publishes an event, with TOKEN in the context of each request if it is not empty, and prints for
each `allowed` or the exception that it got. `trust` prints for each TEXT whether a server with IceSSL.TrustOnly=TEXT takes a
client with the certificate IDENTITY.pem of a folder: `accepted` or `refused`.
"""

import sys

import Ice
import IceStorm


def attempt(what, action):
    try:
        action()
        print(what, "allowed", flush=True)
    except Ice.UnknownException as error:
        print(what, error.unknown, flush=True)


def hub(manager, topic, token):
    context = {"floe.token": token} if token else {}
    manager = IceStorm.TopicManagerPrx.uncheckedCast(manager).ice_context(context)
    attempt("create", lambda: manager.create(topic))
    name = Ice.Identity(topic + ".publish", "IceStorm")
    publisher = manager.ice_identity(name)
    attempt("publish", lambda: publisher.ice_invoke("tell", Ice.OperationMode.Normal, b"\x06\0\0\0\x01\x01"))


def initialize(properties):
    data = Ice.InitializationData()
    data.properties = Ice.createProperties()
    data.logger = Ice.getProcessLogger()
    for name, value in properties.items():
        data.properties.setProperty(name, value)
    return Ice.initialize(data)


class Pong(Ice.Object):
    pass


def trust(folder, identity, text):
    common = {
        "Ice.Plugin.IceSSL": "IceSSL:createIceSSL",
        "IceSSL.DefaultDir": folder,
        "IceSSL.CAs": "ca.pem",
        "IceSSL.VerifyPeer": "2",
        "Ice.Warn.Connections": "0",
    }
    own = {"IceSSL.CertFile": "server.pem", "IceSSL.KeyFile": "server.key", "IceSSL.TrustOnly.Server": text}
    client = {"IceSSL.CertFile": identity + ".pem", "IceSSL.KeyFile": identity + ".key", "Ice.RetryIntervals": "-1"}
    with initialize(common | own) as here, initialize(common | client) as there:
        adapter = here.createObjectAdapterWithEndpoints("Pong", "ssl -h 127.0.0.1 -p 0")
        pong = adapter.addWithUUID(Pong())
        adapter.activate()
        try:
            there.stringToProxy(here.proxyToString(pong)).ice_ping()
            return "accepted"
        except Ice.LocalException:
            return "refused"


def main():
    if sys.argv[1] == "trust":
        _, _, folder, identity, *texts = sys.argv
        for text in texts:
            print(trust(folder, identity, text), flush=True)
        return
    with Ice.initialize(sys.argv) as communicator:
        _, _, manager, topic, token = sys.argv
        hub(communicator.stringToProxy(manager), topic, token)


main()
