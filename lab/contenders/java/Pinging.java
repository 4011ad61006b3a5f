// The scenario `pubsub-rtt` in Java: `lab/contenders/topics.hpp` does the same in C++. Sends are not answered, and a message is its
// number with the bytes of the case.

package floe.lab;

import java.nio.ByteBuffer;
import java.util.Arrays;

final class Pinging
{
    private static final int PRIMERS = 100;
    private static final int MEASURED = 700;
    private static final int PROBE = -1;

    private final byte[] payload;
    private final Messaging.Publisher messages;
    private final StringBuilder line = new StringBuilder("{\"calls\": [");
    private volatile int pending = PROBE;
    private long published;

    private static byte[] message(int number, byte[] payload)
    {
        return ByteBuffer.allocate(Integer.BYTES + payload.length).putInt(number).put(payload).array();
    }

    // The bytes of a case `bytes-N`.
    private static byte[] payload(String name)
    {
        final byte[] payload = new byte[Integer.parseInt(name.split("-")[1])];
        for (int index = 0; index < payload.length; ++index)
        {
            payload[index] = (byte) (index * 31 + index / 256);
        }
        return payload;
    }

    private Pinging(Messaging messaging, String name, String address) throws Exception
    {
        payload = payload(name);
        messages = messaging.publisher(address, "ping", Messaging.Mode.PLAIN);
    }

    static void ping(Messaging messaging, String name, String address) throws Exception
    {
        final Pinging pinging = new Pinging(messaging, name, address);
        messaging.subscribe(
            address, "ack", Messaging.Mode.PLAIN, ack -> pinging.answered(ByteBuffer.wrap(ack).getInt()));
        while (pinging.pending == PROBE)
        {
            pinging.messages.publish(message(PROBE, pinging.payload));
            Thread.sleep(5);
        }
    }

    private void answered(int number) throws Exception
    {
        final long now = System.nanoTime();
        if (number != pending)
        {
            if (number == PROBE)
            {
                return;
            }
            Main.die("expected an answer to message " + pending + ", got one to " + number);
        }
        if (number >= PRIMERS)
        {
            line.append(number == PRIMERS ? "[" : ",[").append(now - published).append(",1]");
        }
        final int next = number + 1;
        if (next == PRIMERS + MEASURED)
        {
            Main.announce(line.append("]}").toString());
            return;
        }
        published = System.nanoTime();
        pending = next;
        messages.publish(message(next, payload));
    }

    static void reply(Messaging messaging, String name, String address) throws Exception
    {
        final byte[] expected = payload(name);
        final Messaging.Publisher acks = messaging.publisher(address, "ack", Messaging.Mode.PLAIN);
        messaging.subscribe(address, "ping", Messaging.Mode.PLAIN, ping -> {
            if (!Arrays.equals(ping, Integer.BYTES, ping.length, expected, 0, expected.length))
            {
                Main.die("expected the message of the case, got another");
            }
            acks.publish(Arrays.copyOf(ping, Integer.BYTES));
        });
    }
}
