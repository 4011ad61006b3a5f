// Artemis's own client, with its own protocol.

package floe.lab;

import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;

final class Contender
{
    static Messaging messaging()
    {
        return new Jms("CORE", "tcp", (address, areSendsAnswered) -> {
            final ActiveMQConnectionFactory factory = new ActiveMQConnectionFactory(address);
            factory.setBlockOnNonDurableSend(areSendsAnswered);
            return factory;
        });
    }

    private Contender()
    {
    }
}
