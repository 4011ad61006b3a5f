// JacORB's notification service, a channel for each topic, and its clients, which push and get events of the type `any`: a
// sequence of octets. Pushes are answered at both ends.

package floe.lab;

import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.jacorb.notification.AbstractChannelFactory;
import org.omg.CORBA.Any;
import org.omg.CORBA.IntHolder;
import org.omg.CORBA.ORB;
import org.omg.CORBA.OctetSeqHelper;
import org.omg.CosEventComm.PushConsumerPOA;
import org.omg.CosNotification.Property;
import org.omg.CosNotifyChannelAdmin.ClientType;
import org.omg.CosNotifyChannelAdmin.EventChannel;
import org.omg.CosNotifyChannelAdmin.EventChannelFactory;
import org.omg.CosNotifyChannelAdmin.EventChannelFactoryHelper;
import org.omg.CosNotifyChannelAdmin.EventChannelHelper;
import org.omg.CosNotifyChannelAdmin.ProxyPushConsumer;
import org.omg.CosNotifyChannelAdmin.ProxyPushConsumerHelper;
import org.omg.CosNotifyChannelAdmin.ProxyPushSupplier;
import org.omg.CosNotifyChannelAdmin.ProxyPushSupplierHelper;
import org.omg.PortableServer.POA;
import org.omg.PortableServer.POAHelper;

final class Contender implements Messaging
{
    // Of both scenarios, in the order in which the address has their channels.
    private static final List<String> TOPICS = List.of("ping", "ack", "tick");

    static Messaging messaging()
    {
        return new Contender();
    }

    @Override
    public String serve() throws Exception
    {
        final ORB orb = running();
        final AbstractChannelFactory service = AbstractChannelFactory.newFactory(orb, null, settings());
        final EventChannelFactory factory = EventChannelFactoryHelper.narrow(service.activate());
        final List<String> channels = new ArrayList<>();
        for (int index = 0; index < TOPICS.size(); ++index)
        {
            final EventChannel channel = factory.create_channel(new Property[0], new Property[0], new IntHolder());
            channels.add(orb.object_to_string(channel));
        }
        return String.join(" ", channels);
    }

    @Override
    public Publisher publisher(String address, String topic, Mode mode) throws Exception
    {
        final ORB orb = running();
        final ProxyPushConsumer proxy = ProxyPushConsumerHelper.narrow(channel(orb, address, topic)
            .default_supplier_admin()
            .obtain_notification_push_consumer(ClientType.ANY_EVENT, new IntHolder()));
        proxy.connect_any_push_supplier(null);
        return event -> {
            final Any any = orb.create_any();
            OctetSeqHelper.insert(any, event);
            proxy.push(any);
        };
    }

    @Override
    public void subscribe(String address, String topic, Mode mode, Take take) throws Exception
    {
        final ORB orb = running();
        final ProxyPushSupplier proxy = ProxyPushSupplierHelper.narrow(channel(orb, address, topic)
            .default_consumer_admin()
            .obtain_notification_push_supplier(ClientType.ANY_EVENT, new IntHolder()));
        proxy.connect_any_push_consumer(new Consumer(take)._this(orb));
    }

    private static final class Consumer extends PushConsumerPOA
    {
        private final Take take;

        Consumer(Take take)
        {
            this.take = take;
        }

        // Several threads may call.
        @Override
        public synchronized void push(Any event)
        {
            try
            {
                take.take(OctetSeqHelper.extract(event));
            }
            catch (Exception error)
            {
                Main.die("expected a sequence of octets: " + error);
            }
        }

        @Override
        public void disconnect_push_consumer()
        {
            // The service ends: so does the lab with this process.
        }
    }

    private static EventChannel channel(ORB orb, String address, String topic)
    {
        return EventChannelHelper.narrow(orb.string_to_object(address.split(" ")[TOPICS.indexOf(topic)]));
    }

    // An ORB that serves, for as long as the process lives.
    private static ORB running() throws Exception
    {
        final ORB orb = ORB.init(new String[0], settings());
        final POA root = POAHelper.narrow(orb.resolve_initial_references("RootPOA"));
        root.the_POAManager().activate();
        final Thread thread = new Thread(orb::run);
        thread.setDaemon(true);
        thread.start();
        return orb;
    }

    private static Properties settings()
    {
        final Properties settings = new Properties();
        settings.put("org.omg.CORBA.ORBClass", "org.jacorb.orb.ORB");
        settings.put("org.omg.CORBA.ORBSingletonClass", "org.jacorb.orb.ORBSingleton");
        settings.put("OAIAddr", "127.0.0.1");
        settings.put("jacorb.log.default.verbosity", "1");
        settings.put("jacorb.connection.client.connect_timeout", "60000");
        return settings;
    }

    private Contender()
    {
    }
}
