// Qpid JMS, with AMQP 1.0.

package floe.lab;

import org.apache.qpid.jms.JmsConnectionFactory;

final class Contender
{
    static Messaging messaging()
    {
        return new Jms("AMQP", "amqp", (address, areSendsAnswered) -> {
            final JmsConnectionFactory factory = new JmsConnectionFactory(address);
            factory.setForceSyncSend(areSendsAnswered);
            factory.setForceAsyncSend(!areSendsAnswered);
            return factory;
        });
    }

    private Contender()
    {
    }
}
