// WS-Notification with Apache CXF: a broker that has its topics in an ActiveMQ of the same process, and that posts each event to
// each subscriber in a SOAP message. Events are octets as text in base 64.

package floe.lab;

import java.util.Base64;
import javax.xml.bind.JAXBElement;
import javax.xml.namespace.QName;
import org.apache.activemq.ActiveMQConnectionFactory;
import org.apache.cxf.wsn.client.Consumer;
import org.apache.cxf.wsn.client.NotificationBroker;
import org.apache.cxf.wsn.services.JaxwsNotificationBroker;
import org.w3c.dom.Element;

final class Contender implements Messaging
{
    private static final QName EVENT = new QName("urn:floe:lab", "event");
    private static final String INSIDE = "vm://inside?broker.persistent=false&broker.useJmx=false";

    static Messaging messaging()
    {
        return new Contender();
    }

    @Override
    public String serve() throws Exception
    {
        final String address = url("broker");
        final JaxwsNotificationBroker broker =
            new JaxwsNotificationBroker("broker", new ActiveMQConnectionFactory(INSIDE));
        broker.setAddress(address);
        broker.init();
        return address;
    }

    @Override
    public Publisher publisher(String address, String topic, Mode mode)
    {
        final NotificationBroker broker = new NotificationBroker(address);
        return event -> {
            // A client is for one thread at a time.
            synchronized (broker)
            {
                final String text = Base64.getEncoder().encodeToString(event);
                broker.notify(topic, new JAXBElement<>(EVENT, String.class, text));
            }
        };
    }

    @Override
    public void subscribe(String address, String topic, Mode mode, Take take) throws Exception
    {
        // Several threads of its server may get events.
        final Object turn = new Object();
        final Consumer consumer = new Consumer(message -> {
            try
            {
                final Element element = (Element) message.getMessage().getAny();
                final byte[] event = Base64.getDecoder().decode(element.getTextContent());
                synchronized (turn)
                {
                    take.take(event);
                }
            }
            catch (Exception error)
            {
                Main.die("expected an event in base 64: " + error);
            }
        }, url("consumer"));
        new NotificationBroker(address).subscribe(consumer, topic);
    }

    private static String url(String name) throws Exception
    {
        return "http://127.0.0.1:" + Main.freePort() + "/" + name;
    }

    private Contender()
    {
    }
}
