// Reads the stored events of a durable subscription, and acknowledges each.

package floe.lab;

import jakarta.jms.BytesMessage;
import jakarta.jms.Connection;
import jakarta.jms.JMSException;
import jakarta.jms.Session;
import java.util.concurrent.CountDownLatch;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;

final class Replaying
{
    // Events in a second, until so many have come.
    static double rate(String address, int count) throws Exception
    {
        final Connection connection = Subscription.connection(new ActiveMQConnectionFactory(address));
        final Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        final CountDownLatch left = new CountDownLatch(count);
        final long started = System.nanoTime();
        Subscription.consumer(session).setMessageListener(message -> {
            try
            {
                final BytesMessage bytes = (BytesMessage) message;
                bytes.readBytes(new byte[(int) bytes.getBodyLength()]);
                left.countDown();
            }
            catch (JMSException error)
            {
                Main.die("expected a message of bytes: " + error);
            }
        });
        connection.start();
        left.await();
        return count * 1e9 / (System.nanoTime() - started);
    }

    private Replaying()
    {
    }
}
