// A JMS program: what programs do with topics, but for transactions, which must be refused clearly.

import jakarta.jms.*;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.qpid.jms.JmsConnectionFactory;

public class Conversation {
    static final long PATIENCE = 30_000;
    static final int MANY = 10_000;
    static String url;

    public static void main(String[] arguments) throws Exception {
        url = arguments[1];
        if (arguments[0].equals("vanish")) {
            vanish();
        }
        if (arguments[0].equals("record")) {
            record();
        }
        wrongPassword();
        try (Connection connection = connect("client-1", url)) {
            textWithProperties(connection);
            otherTypes(connection);
            severalConsumers(connection);
            clientAcknowledgement(connection);
            longBytes(connection);
            nothingThere(connection);
            selector(connection);
            durable(connection);
            shared(connection);
            temporary(connection);
            transacted(connection);
            noLocal(connection);
        }
        presettled();
        many();
        System.out.println("done");
        System.exit(0);
    }

    static Connection connect(String client, String address) throws JMSException {
        Connection connection = new JmsConnectionFactory("ann", "tulip", address).createConnection();
        connection.setClientID(client);
        connection.start();
        return connection;
    }

    static void check(boolean holds, String expected) {
        if (!holds) {
            throw new AssertionError("expected " + expected);
        }
    }

    static void step(String name) {
        System.out.println(name);
    }

    static void vanish() throws Exception {
        Session session = connect("vanishing", url).createSession(Session.AUTO_ACKNOWLEDGE);
        session.createConsumer(session.createTopic("news"));
        System.out.println("subscribed");
        Thread.sleep(1_000_000);
    }

    interface Step {
        void run(Connection connection) throws Exception;
    }

    // Each step on a connection of its own; see tests/vectors/README.md.
    static void record() throws Exception {
        List<Step> steps = List.of(
                Conversation::textWithProperties, Conversation::otherTypes, Conversation::severalConsumers,
                Conversation::clientAcknowledgement, Conversation::selector, Conversation::durable,
                Conversation::shared, Conversation::temporary, Conversation::transacted, Conversation::nothingThere);
        for (Step step : steps) {
            try (Connection connection = connect("client-1", url)) {
                step.run(connection);
            }
        }
        System.exit(0);
    }

    static void wrongPassword() throws Exception {
        step("a wrong password");
        try {
            new JmsConnectionFactory("ann", "rose", url).createConnection().start();
            throw new AssertionError("expected a wrong password to be refused");
        } catch (JMSSecurityException expected) {
            // As it should be.
        }
    }

    static void textWithProperties(Connection connection) throws Exception {
        step("a text with properties");
        Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
        Topic topic = session.createTopic("news");
        MessageConsumer consumer = session.createConsumer(topic);
        MessageProducer producer = session.createProducer(topic);
        TextMessage text = session.createTextMessage("hällo");
        text.setStringProperty("color", "red");
        text.setIntProperty("size", 3);
        text.setJMSType("greeting");
        text.setJMSCorrelationID("c-1");
        text.setJMSReplyTo(session.createTopic("answers"));
        producer.send(text, DeliveryMode.NON_PERSISTENT, 7, 60_000);
        TextMessage got = (TextMessage) consumer.receive(PATIENCE);
        check(got.getText().equals("hällo"), "the text");
        check(got.getStringProperty("color").equals("red"), "the color");
        check(got.getIntProperty("size") == 3, "the size");
        check(got.getJMSType().equals("greeting"), "the type");
        check(got.getJMSCorrelationID().equals("c-1"), "the correlation id");
        check(((Topic) got.getJMSReplyTo()).getTopicName().equals("answers"), "the topic for answers");
        check(got.getJMSPriority() == 7, "the priority");
        check(got.getJMSExpiration() > 0, "the expiration");
        check(got.getJMSMessageID().equals(text.getJMSMessageID()), "the id");
        check(((Topic) got.getJMSDestination()).getTopicName().equals("news"), "the topic");
        session.close();
    }

    static void otherTypes(Connection connection) throws Exception {
        step("a map, a stream and an empty message");
        Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
        Topic topic = session.createTopic("news");
        MessageConsumer consumer = session.createConsumer(topic);
        // It names the topic of each message.
        MessageProducer producer = session.createProducer(null);
        MapMessage map = session.createMapMessage();
        map.setInt("number", 7);
        map.setDouble("half", 0.5);
        map.setBytes("bytes", new byte[] {1, 2, 3});
        map.setString("none", null);
        producer.send(topic, map);
        MapMessage gotMap = (MapMessage) consumer.receive(PATIENCE);
        check(gotMap.getInt("number") == 7 && gotMap.getDouble("half") == 0.5, "the numbers");
        check(Arrays.equals(gotMap.getBytes("bytes"), new byte[] {1, 2, 3}), "the bytes");
        check(gotMap.itemExists("none") && gotMap.getString("none") == null, "the null");
        StreamMessage stream = session.createStreamMessage();
        stream.writeLong(1L << 40);
        stream.writeChar('x');
        producer.send(topic, stream);
        StreamMessage gotStream = (StreamMessage) consumer.receive(PATIENCE);
        check(gotStream.readLong() == 1L << 40 && gotStream.readChar() == 'x', "the stream");
        producer.send(topic, session.createMessage());
        check(consumer.receive(PATIENCE) != null, "an empty message");
        session.close();
    }

    static void severalConsumers(Connection connection) throws Exception {
        step("several consumers");
        Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
        Topic topic = session.createTopic("news");
        List<MessageConsumer> consumers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            consumers.add(session.createConsumer(topic));
        }
        session.createProducer(topic).send(session.createTextMessage("to all"));
        for (MessageConsumer consumer : consumers) {
            check(((TextMessage) consumer.receive(PATIENCE)).getText().equals("to all"), "it at each");
        }
        session.close();
    }

    static void clientAcknowledgement(Connection connection) throws Exception {
        step("acknowledgement by the client");
        Session session = connection.createSession(Session.CLIENT_ACKNOWLEDGE);
        Topic topic = session.createTopic("news");
        MessageConsumer consumer = session.createConsumer(topic);
        MessageProducer producer = session.createProducer(topic);
        for (int i = 0; i < 3; i++) {
            producer.send(session.createTextMessage("" + i));
        }
        consumer.receive(PATIENCE);
        session.recover();
        TextMessage again = (TextMessage) consumer.receive(PATIENCE);
        check(again.getText().equals("0") && again.getJMSRedelivered(), "the first one again");
        consumer.receive(PATIENCE);
        consumer.receive(PATIENCE).acknowledge();
        session.close();
    }

    static void longBytes(Connection connection) throws Exception {
        step("a mebibyte");
        Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
        Topic topic = session.createTopic("news");
        MessageConsumer consumer = session.createConsumer(topic);
        byte[] bytes = new byte[1 << 20];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (i * 31);
        }
        BytesMessage message = session.createBytesMessage();
        message.writeBytes(bytes);
        session.createProducer(topic).send(message);
        BytesMessage got = (BytesMessage) consumer.receive(PATIENCE);
        byte[] read = new byte[bytes.length];
        check(got.getBodyLength() == bytes.length && got.readBytes(read) == bytes.length, "its length");
        check(Arrays.equals(bytes, read), "its bytes");
        session.close();
    }

    static void nothingThere(Connection connection) throws Exception {
        step("nothing there");
        Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
        MessageConsumer consumer = session.createConsumer(session.createTopic("quiet"));
        check(consumer.receiveNoWait() == null, "nothing at once");
        check(consumer.receive(10) == null, "nothing after a while");
        QueueBrowser browser = session.createBrowser(session.createQueue("quiet"));
        check(!browser.getEnumeration().hasMoreElements(), "an empty queue");
        session.close();
        // Without prefetch, each receive asks for one message, and takes that back when it ends.
        try (Connection other = connect("client-2", url + "?jms.prefetchPolicy.all=0")) {
            Session asking = other.createSession(Session.AUTO_ACKNOWLEDGE);
            Topic topic = asking.createTopic("asked");
            MessageConsumer one = asking.createConsumer(topic);
            check(one.receiveNoWait() == null, "nothing at once");
            MessageProducer producer = asking.createProducer(topic);
            for (int i = 0; i < 10; i++) {
                producer.send(asking.createTextMessage("" + i));
            }
            for (int i = 0; i < 10; i++) {
                check(((TextMessage) one.receive(PATIENCE)).getText().equals("" + i), "each in its turn");
            }
            check(one.receiveNoWait() == null, "no more");
        }
    }

    static void selector(Connection connection) throws Exception {
        step("a selector");
        Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
        session.createConsumer(session.createTopic("news"), "color = 'red'").close();
        session.close();
    }

    static void durable(Connection connection) throws Exception {
        step("a durable subscription");
        Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
        Topic topic = session.createTopic("news");
        session.createDurableSubscriber(topic, "sub-1").close();
        session.createProducer(topic).send(session.createTextMessage("while away"));
        TopicSubscriber back = session.createDurableSubscriber(topic, "sub-1");
        check(((TextMessage) back.receive(PATIENCE)).getText().equals("while away"), "what was kept");
        back.close();
        session.unsubscribe("sub-1");
        try {
            session.unsubscribe("sub-1");
            throw new AssertionError("expected that it is gone");
        } catch (InvalidDestinationException expected) {
            // As it should be.
        }
        session.close();
    }

    static void shared(Connection connection) throws Exception {
        step("shared subscriptions");
        Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
        Topic topic = session.createTopic("work");
        MessageConsumer one = session.createSharedConsumer(topic, "group");
        MessageConsumer other = session.createSharedConsumer(topic, "group");
        MessageProducer producer = session.createProducer(topic);
        for (int i = 0; i < 10; i++) {
            producer.send(session.createTextMessage("" + i));
        }
        for (int i = 0; i < 5; i++) {
            check(one.receive(PATIENCE) != null && other.receive(PATIENCE) != null, "five each");
        }
        check(one.receiveNoWait() == null && other.receiveNoWait() == null, "no more");
        one.close();
        other.close();
        session.createSharedDurableConsumer(topic, "kept").close();
        producer.send(session.createTextMessage("kept"));
        MessageConsumer kept = session.createSharedDurableConsumer(topic, "kept");
        check(((TextMessage) kept.receive(PATIENCE)).getText().equals("kept"), "what was kept");
        kept.close();
        session.unsubscribe("kept");
        session.close();
    }

    static void temporary(Connection connection) throws Exception {
        step("a temporary topic");
        Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
        TemporaryTopic topic = session.createTemporaryTopic();
        MessageConsumer consumer = session.createConsumer(topic);
        session.createProducer(topic).send(session.createTextMessage("between us"));
        check(((TextMessage) consumer.receive(PATIENCE)).getText().equals("between us"), "the text");
        consumer.close();
        topic.delete();
        TemporaryQueue queue = session.createTemporaryQueue();
        queue.delete();
        session.close();
    }

    static void transacted(Connection connection) throws Exception {
        step("a transaction");
        try {
            connection.createSession(Session.SESSION_TRANSACTED);
            throw new AssertionError("expected transactions to be refused");
        } catch (JMSException expected) {
            check(expected.getMessage().contains("transactions are not implemented"), "a clear reason, got " + expected);
        }
    }

    static void noLocal(Connection connection) throws Exception {
        step("nothing of the same connection");
        Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
        Topic topic = session.createTopic("mine");
        MessageConsumer consumer = session.createConsumer(topic, null, true);
        session.createProducer(topic).send(session.createTextMessage("of mine"));
        try (Connection other = connect("client-3", url)) {
            Session others = other.createSession(Session.AUTO_ACKNOWLEDGE);
            others.createProducer(others.createTopic("mine")).send(others.createTextMessage("of another"));
        }
        check(((TextMessage) consumer.receive(PATIENCE)).getText().equals("of another"), "the other's alone");
        session.close();
    }

    static void presettled() throws Exception {
        step("messages that are settled at once");
        try (Connection connection = connect("client-4", url + "?jms.presettlePolicy.presettleAll=true")) {
            Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
            Topic topic = session.createTopic("fast");
            MessageConsumer consumer = session.createConsumer(topic);
            MessageProducer producer = session.createProducer(topic);
            for (int i = 0; i < 100; i++) {
                producer.send(session.createTextMessage("" + i));
            }
            for (int i = 0; i < 100; i++) {
                check(((TextMessage) consumer.receive(PATIENCE)).getText().equals("" + i), "all in order");
            }
        }
    }

    static void many() throws Exception {
        step("many messages to a listener on another connection");
        try (Connection to = connect("listener", url); Connection from = connect("publisher", url)) {
            Session listening = to.createSession(Session.AUTO_ACKNOWLEDGE);
            CountDownLatch left = new CountDownLatch(MANY);
            AtomicInteger next = new AtomicInteger();
            AtomicInteger misplaced = new AtomicInteger();
            listening.createConsumer(listening.createTopic("many")).setMessageListener(message -> {
                try {
                    if (message.getIntProperty("number") != next.getAndIncrement()) {
                        misplaced.incrementAndGet();
                    }
                } catch (JMSException error) {
                    misplaced.incrementAndGet();
                }
                left.countDown();
            });
            Session publishing = from.createSession(Session.AUTO_ACKNOWLEDGE);
            MessageProducer producer = publishing.createProducer(publishing.createTopic("many"));
            producer.setDeliveryMode(DeliveryMode.NON_PERSISTENT);
            long start = System.nanoTime();
            for (int i = 0; i < MANY; i++) {
                BytesMessage message = publishing.createBytesMessage();
                message.writeBytes(new byte[64]);
                message.setIntProperty("number", i);
                producer.send(message);
            }
            check(left.await(60, TimeUnit.SECONDS), "all, but " + left.getCount() + " have not come");
            check(misplaced.get() == 0, "all in order, but " + misplaced.get() + " were not");
            System.out.printf("%d messages/s%n", MANY * 1_000_000_000L / (System.nanoTime() - start));
        }
    }
}
