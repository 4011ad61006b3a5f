// The scenario `pubsub-rtt` with ActiveMQ Artemis: `lab/contenders/topics.hpp` does the same in C++, and `Artemis.java` has the
// broker. Sends are not answered, and a message is its number with the bytes of the case.

package floe.lab;

import jakarta.jms.BytesMessage;
import jakarta.jms.DeliveryMode;
import jakarta.jms.JMSException;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import java.util.Arrays;

final class Pinging
{
    private static final int PRIMERS = 100;
    private static final int MEASURED = 700;
    private static final int PROBE = -1;

    private final byte[] payload;
    private final Topic messages;
    private final StringBuilder line = new StringBuilder("{\"calls\": [");
    private volatile int pending = PROBE;
    private long published;

    // A producer of its own session; the thread that probes and the one that gets answers may both publish.
    private static final class Topic
    {
        private final Session session;
        private final MessageProducer producer;

        Topic(String address, String name) throws JMSException
        {
            session = Artemis.session(address, false, Session.AUTO_ACKNOWLEDGE);
            producer = session.createProducer(session.createTopic(name));
            producer.setDeliveryMode(DeliveryMode.NON_PERSISTENT);
            producer.setDisableMessageID(true);
            producer.setDisableMessageTimestamp(true);
        }

        synchronized void publish(int number, byte[] payload) throws JMSException
        {
            final BytesMessage message = session.createBytesMessage();
            message.writeInt(number);
            message.writeBytes(payload);
            producer.send(message);
        }
    }

    private interface Take
    {
        void take(int number, byte[] payload) throws JMSException;
    }

    private static void subscribe(String address, String name, Take take) throws JMSException
    {
        final Session session = Artemis.session(address, false, Session.AUTO_ACKNOWLEDGE);
        session.createConsumer(session.createTopic(name)).setMessageListener(message -> {
            try
            {
                final BytesMessage bytes = (BytesMessage) message;
                final int number = bytes.readInt();
                final byte[] payload = new byte[(int) bytes.getBodyLength() - Integer.BYTES];
                bytes.readBytes(payload);
                take.take(number, payload);
            }
            catch (JMSException error)
            {
                Main.die("expected a message from Artemis: " + error);
            }
        });
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

    private Pinging(String name, String address) throws JMSException
    {
        payload = payload(name);
        messages = new Topic(address, "ping");
    }

    static void ping(String name, String address) throws Exception
    {
        final Pinging pinging = new Pinging(name, address);
        subscribe(address, "ack", (number, rest) -> pinging.answered(number));
        while (pinging.pending == PROBE)
        {
            pinging.messages.publish(PROBE, pinging.payload);
            Thread.sleep(5);
        }
    }

    private void answered(int number) throws JMSException
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
        messages.publish(next, payload);
    }

    static void reply(String name, String address) throws JMSException
    {
        final byte[] expected = payload(name);
        final Topic acks = new Topic(address, "ack");
        subscribe(address, "ping", (number, came) -> {
            if (!Arrays.equals(came, expected))
            {
                Main.die("expected the message of the case, got another");
            }
            acks.publish(number, new byte[0]);
        });
    }
}
