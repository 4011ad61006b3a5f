// The scenario `events` with ActiveMQ Artemis: a broker in a process of its own, which holds everything in memory, and
// clients of JMS (Jakarta Messaging) with its own protocol. Where events are acknowledged, the broker answers each send and
// a subscriber acknowledges each event; where they are batched, sends follow one another and acknowledgements are lazy,
// since JMS has no batches but transactions.

package floe.lab;

import jakarta.jms.BytesMessage;
import jakarta.jms.Connection;
import jakarta.jms.DeliveryMode;
import jakarta.jms.JMSException;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import java.net.InetAddress;
import java.net.ServerSocket;
import org.apache.activemq.artemis.core.config.Configuration;
import org.apache.activemq.artemis.core.config.impl.ConfigurationImpl;
import org.apache.activemq.artemis.core.server.embedded.EmbeddedActiveMQ;
import org.apache.activemq.artemis.core.settings.impl.AddressSettings;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;

final class Artemis
{
    private static final String TOPIC = "tick";
    private static final int UNLIMITED = -1;

    static void serve() throws Exception
    {
        final String address = "tcp://127.0.0.1:" + freePort();
        final Configuration configuration = new ConfigurationImpl();
        configuration.setPersistenceEnabled(false);
        configuration.setSecurityEnabled(false);
        configuration.setJMXManagementEnabled(false);
        configuration.addAcceptorConfiguration("tcp", address + "?protocols=CORE");
        // Else what is more than half of the heap goes to files.
        configuration.setGlobalMaxSize(UNLIMITED);
        configuration.addAddressSetting("#", new AddressSettings().setMaxSizeBytes(UNLIMITED));
        new EmbeddedActiveMQ().setConfiguration(configuration).start();
        Main.announce("{\"address\": \"" + address + "\", \"pid\": " + ProcessHandle.current().pid() + "}");
    }

    static Publishing.Publish publisher(Task task, String address) throws JMSException
    {
        final Session session = session(task, address);
        final MessageProducer producer = session.createProducer(session.createTopic(TOPIC));
        producer.setDeliveryMode(DeliveryMode.NON_PERSISTENT);
        producer.setDisableMessageID(true);
        producer.setDisableMessageTimestamp(true);
        return number -> {
            final BytesMessage message = session.createBytesMessage();
            message.writeLong(number);
            producer.send(message);
        };
    }

    static void subscribe(Task task, Tally tally, String address) throws JMSException
    {
        final Session session = session(task, address);
        final MessageConsumer consumer = session.createConsumer(session.createTopic(TOPIC));
        // A session has one thread.
        consumer.setMessageListener(message -> {
            try
            {
                tally.take(((BytesMessage) message).readLong());
            }
            catch (JMSException error)
            {
                Main.die("expected 8 bytes from Artemis: " + error);
            }
        });
    }

    // Of a connection of its own, which lives as long as the process.
    private static Session session(Task task, String address) throws JMSException
    {
        return session(
            address, !task.isBatched(), task.isBatched() ? Session.DUPS_OK_ACKNOWLEDGE : Session.AUTO_ACKNOWLEDGE);
    }

    static Session session(String address, boolean areSendsAnswered, int acknowledgement) throws JMSException
    {
        @SuppressWarnings("resource")
        final ActiveMQConnectionFactory factory = new ActiveMQConnectionFactory(address);
        factory.setBlockOnNonDurableSend(areSendsAnswered);
        final Connection connection = factory.createConnection();
        connection.start();
        return connection.createSession(false, acknowledgement);
    }

    // It was free a moment ago.
    private static int freePort() throws Exception
    {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress()))
        {
            return socket.getLocalPort();
        }
    }

    private Artemis()
    {
    }
}
