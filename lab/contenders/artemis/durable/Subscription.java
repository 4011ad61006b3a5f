// The durable subscription whose events are stored. A topic keeps nothing for which it has no subscription.

package floe.lab;

import jakarta.jms.Connection;
import jakarta.jms.JMSException;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import jakarta.jms.Topic;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;

final class Subscription
{
    private static final String TOPIC = "journal";
    private static final String CLIENT = "lab";
    private static final String NAME = "replay";

    private Subscription()
    {
    }

    // The subscriber is away then, if there has been one.
    static void create(ActiveMQConnectionFactory factory) throws JMSException
    {
        try (Connection connection = connection(factory))
        {
            final Session session = connection.createSession();
            consumer(session).close();
        }
    }

    static Connection connection(ActiveMQConnectionFactory factory) throws JMSException
    {
        final Connection connection = factory.createConnection();
        connection.setClientID(CLIENT);
        return connection;
    }

    static MessageConsumer consumer(Session session) throws JMSException
    {
        return session.createDurableConsumer(topic(session), NAME);
    }

    static MessageProducer producer(Session session) throws JMSException
    {
        return session.createProducer(topic(session));
    }

    private static Topic topic(Session session) throws JMSException
    {
        return session.createTopic(TOPIC);
    }
}
