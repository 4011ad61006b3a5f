// Contenders of JMS (Jakarta Messaging): the broker ActiveMQ Artemis in a process of its own, which holds everything in memory, and
// clients with the library and the protocol of the contender. Where events are acknowledged, the broker answers each send and a
// subscriber acknowledges each event; where they are batched, sends follow one another and acknowledgements are lazy, since JMS
// has no batches but transactions.

package floe.lab;

import jakarta.jms.BytesMessage;
import jakarta.jms.Connection;
import jakarta.jms.ConnectionFactory;
import jakarta.jms.DeliveryMode;
import jakarta.jms.JMSException;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import org.apache.activemq.artemis.core.config.Configuration;
import org.apache.activemq.artemis.core.config.impl.ConfigurationImpl;
import org.apache.activemq.artemis.core.server.embedded.EmbeddedActiveMQ;
import org.apache.activemq.artemis.core.settings.impl.AddressSettings;

final class Jms implements Messaging
{
    // A connection's maker; `areSendsAnswered` says whether a send waits for the broker.
    interface Client
    {
        ConnectionFactory factory(String address, boolean areSendsAnswered) throws JMSException;
    }

    private static final int UNLIMITED = -1;

    private final String protocol;
    private final String scheme;
    private final Client client;

    Jms(String protocol, String scheme, Client client)
    {
        this.protocol = protocol;
        this.scheme = scheme;
        this.client = client;
    }

    @Override
    public String serve() throws Exception
    {
        final String place = "://127.0.0.1:" + Main.freePort();
        final Configuration configuration = new ConfigurationImpl();
        configuration.setPersistenceEnabled(false);
        configuration.setSecurityEnabled(false);
        configuration.setJMXManagementEnabled(false);
        configuration.addAcceptorConfiguration("tcp", "tcp" + place + "?protocols=" + protocol);
        // Else what is more than half of the heap goes to files.
        configuration.setGlobalMaxSize(UNLIMITED);
        configuration.addAddressSetting("#", new AddressSettings().setMaxSizeBytes(UNLIMITED));
        new EmbeddedActiveMQ().setConfiguration(configuration).start();
        return scheme + place;
    }

    @Override
    public Publisher publisher(String address, String topic, Mode mode) throws JMSException
    {
        final Session session = session(address, mode);
        final MessageProducer producer = session.createProducer(session.createTopic(topic));
        producer.setDeliveryMode(DeliveryMode.NON_PERSISTENT);
        producer.setDisableMessageID(true);
        producer.setDisableMessageTimestamp(true);
        return event -> {
            // A session is for one thread at a time.
            synchronized (session)
            {
                final BytesMessage message = session.createBytesMessage();
                message.writeBytes(event);
                producer.send(message);
            }
        };
    }

    @Override
    public void subscribe(String address, String topic, Mode mode, Take take) throws JMSException
    {
        final Session session = session(address, mode);
        // A session has one thread.
        session.createConsumer(session.createTopic(topic)).setMessageListener(message -> {
            try
            {
                final BytesMessage bytes = (BytesMessage) message;
                final byte[] event = new byte[(int) bytes.getBodyLength()];
                bytes.readBytes(event);
                take.take(event);
            }
            catch (Exception error)
            {
                Main.die("expected a message of bytes: " + error);
            }
        });
    }

    // Of a connection of its own, which lives as long as the process.
    private Session session(String address, Mode mode) throws JMSException
    {
        final Connection connection = client.factory(address, mode == Mode.ACKNOWLEDGED).createConnection();
        connection.start();
        return connection.createSession(
            false, mode == Mode.BATCHED ? Session.DUPS_OK_ACKNOWLEDGE : Session.AUTO_ACKNOWLEDGE);
    }
}
