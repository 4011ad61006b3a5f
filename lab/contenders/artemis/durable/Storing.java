// Publishes persistent messages. The broker acknowledges each of them when it is on disk. One at a time is sent by a call that
// waits for that; of more, the client's library tells a listener.

package floe.lab;

import jakarta.jms.BytesMessage;
import jakarta.jms.CompletionListener;
import jakarta.jms.DeliveryMode;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import java.util.Arrays;
import java.util.concurrent.Semaphore;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;

final class Storing
{
    private static final byte[] PAYLOAD = new byte[100];
    // More than ten thousand messages have. Without a window, the library tells its listeners before the broker has answered.
    private static final int CONFIRMATION_WINDOW_LEN = 16 << 20;
    private static final int STORED_TOGETHER = 1000;

    static
    {
        Arrays.fill(PAYLOAD, (byte) 7);
    }

    private final Case work;
    private final Session session;
    private final MessageProducer producer;
    // As many permits as messages may still be sent.
    private final Semaphore room;
    private final CompletionListener answers = new CompletionListener()
    {
        @Override
        public void onCompletion(Message message)
        {
            room.release();
        }

        @Override
        public void onException(Message message, Exception error)
        {
            Main.die("a message is not stored: " + error);
        }
    };

    Storing(String address, Case work) throws JMSException
    {
        this.work = work;
        room = new Semaphore(work.count());
        final ActiveMQConnectionFactory factory = new ActiveMQConnectionFactory(address);
        factory.setConfirmationWindowSize(CONFIRMATION_WINDOW_LEN);
        Subscription.create(factory);
        session = factory.createConnection().createSession();
        producer = Subscription.producer(session);
        producer.setDeliveryMode(DeliveryMode.PERSISTENT);
        producer.setDisableMessageID(true);
        producer.setDisableMessageTimestamp(true);
    }

    // So many messages, for one who reads them later.
    static void storeAll(String address, int count) throws Exception
    {
        final Storing storing = new Storing(address, new Case("inflight", STORED_TOGETHER));
        for (int index = 0; index < count; ++index)
        {
            storing.send();
        }
        storing.awaitAll();
    }

    // Publishes until that moment, at least once, and awaits all answers. Returns how many messages were acknowledged.
    long storeUntil(long moment) throws Exception
    {
        long stored = 0;
        do
        {
            if (work.count() == 1)
            {
                producer.send(message());
                ++stored;
                continue;
            }
            for (int index = 0; index < work.count(); ++index, ++stored)
            {
                send();
            }
            if (work.isBatched())
            {
                awaitAll();
            }
        } while (System.nanoTime() < moment);
        awaitAll();
        return stored;
    }

    private void send() throws Exception
    {
        room.acquire();
        producer.send(message(), answers);
    }

    private void awaitAll() throws Exception
    {
        room.acquire(work.count());
        room.release(work.count());
    }

    private BytesMessage message() throws JMSException
    {
        final BytesMessage message = session.createBytesMessage();
        message.writeBytes(PAYLOAD);
        return message;
    }
}
