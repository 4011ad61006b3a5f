// A JMS program that does with a topic of events what programs do: `java -cp 'jars/*' Conversation.java ADDRESS`. It prints
// each step, and `done`. Kinds of subscriptions that the broker does not offer must be refused clearly.

import jakarta.jms.*;
import java.util.Collections;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.qpid.jms.JmsConnectionFactory;

public class Conversation {
    static final long PATIENCE = 60_000;
    static final int MANY = 5_000;
    static String url;

    public static void main(String[] arguments) throws Exception {
        url = "amqp://" + arguments[0];
        try (Connection connection = new JmsConnectionFactory(url).createConnection()) {
            connection.setClientID("client-1");
            connection.start();
            nothingThere(connection);
            notFetchedAhead();
            eachMessageNamesItsTopic();
            wrongMessages(connection);
            again(connection);
            mebibyte(connection);
            many(connection);
            refused(connection);
        }
        System.out.println("done");
        System.exit(0);
    }

    interface Attempt {
        void run() throws Exception;
    }

    static void step(String name) {
        System.out.println(name);
    }

    static void check(boolean holds, String expected) {
        if (!holds) {
            throw new AssertionError("expected " + expected);
        }
    }

    static void fails(String text, Attempt attempt) throws Exception {
        try {
            attempt.run();
        } catch (JMSException error) {
            check(error.getMessage().contains(text), "`" + text + "`, got " + error.getMessage());
            return;
        }
        throw new AssertionError("expected an error with `" + text + "`");
    }

    static String tick(int line, String text) {
        return "{\"side\":\"buy\",\"venue\":{\"name\":\"X\",\"line\":" + line + "},\"book\":[],\"raw\":[],\"firm\":true,"
                + "\"id\":1,\"price\":0.5,\"text\":\"" + text + "\"}";
    }

    static int line(Message message) throws JMSException {
        check(message != null, "a message in time");
        String text = message.getBody(String.class);
        String from = text.substring(text.indexOf("\"line\":") + 7);
        return Integer.parseInt(from.substring(0, from.indexOf('}')));
    }

    static void nothingThere(Connection connection) throws Exception {
        step("nothing is there");
        Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
        MessageConsumer consumer = session.createConsumer(session.createTopic("ticks"));
        check(consumer.receiveNoWait() == null, "no message");
        check(consumer.receive(50) == null, "no message");
        session.close();
    }

    static void notFetchedAhead() throws Exception {
        step("nothing is fetched ahead");
        try (Connection connection = new JmsConnectionFactory(url + "?jms.prefetchPolicy.all=0").createConnection()) {
            connection.start();
            Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
            Topic topic = session.createTopic("ticks");
            MessageConsumer consumer = session.createConsumer(topic);
            MessageProducer producer = session.createProducer(topic);
            for (int number = 0; number < 20; number++) {
                producer.send(session.createTextMessage(tick(number, "a")));
            }
            for (int number = 0; number < 20; number++) {
                check(line(consumer.receive(PATIENCE)) == number, "the messages in their order");
            }
        }
    }

    static void eachMessageNamesItsTopic() throws Exception {
        step("each message names its topic");
        try (JMSContext context = new JmsConnectionFactory(url).createContext()) {
            Topic topic = context.createTopic("ticks");
            JMSConsumer consumer = context.createConsumer(topic);
            context.createProducer().setProperty("operation", "tick").send(topic, tick(7, "b"));
            Message message = consumer.receive(PATIENCE);
            check(line(message) == 7, "the message");
            check(message.getJMSDestination().equals(topic), "the topic");
            check(Collections.list(message.getPropertyNames()).contains("operation"), "the operation");
        }
    }

    static void wrongMessages(Connection connection) throws Exception {
        step("wrong messages");
        Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
        MessageProducer producer = session.createProducer(session.createTopic("ticks"));
        fails("body.venue.line: expected an int", () ->
                producer.send(session.createTextMessage(tick(1, "c").replace("\"line\":1", "\"line\":\"one\""))));
        MapMessage map = session.createMapMessage();
        map.setString("side", "hold");
        fails("body.side: expected an enumerator", () -> producer.send(map));
        fails("got a BytesMessage", () -> producer.send(session.createBytesMessage()));
        fails("got an ObjectMessage", () -> producer.send(session.createObjectMessage("x")));
        TextMessage other = session.createTextMessage(tick(1, "d"));
        other.setStringProperty("operation", "tock");
        fails("property `operation`: expected an operation of ::Worlds::Ticker (tick), got \"tock\"", () -> producer.send(other));
        producer.send(session.createTextMessage(tick(1, "e")));
        session.close();
    }

    static void again(Connection connection) throws Exception {
        step("recovered messages come again");
        Session session = connection.createSession(Session.CLIENT_ACKNOWLEDGE);
        Topic topic = session.createTopic("ticks");
        MessageConsumer consumer = session.createConsumer(topic);
        MessageProducer producer = session.createProducer(topic);
        for (int number = 0; number < 3; number++) {
            producer.send(session.createTextMessage(tick(number, "f")));
        }
        check(line(consumer.receive(PATIENCE)) == 0, "the first");
        check(line(consumer.receive(PATIENCE)) == 1, "the second");
        session.recover();
        Message first = consumer.receive(PATIENCE);
        check(line(first) == 0 && first.getJMSRedelivered(), "the first, again");
        Message second = consumer.receive(PATIENCE);
        check(line(second) == 1 && second.getIntProperty("JMSXDeliveryCount") == 2, "the second, again");
        Message third = consumer.receive(PATIENCE);
        check(line(third) == 2, "the third");
        third.acknowledge();
        session.close();
    }

    static void mebibyte(Connection connection) throws Exception {
        step("a mebibyte");
        Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
        Topic topic = session.createTopic("ticks");
        MessageConsumer consumer = session.createConsumer(topic);
        String text = "x".repeat(1 << 20);
        session.createProducer(topic).send(session.createTextMessage(tick(9, text)));
        Message message = consumer.receive(PATIENCE);
        check(line(message) == 9 && message.getBody(String.class).contains(text), "the text");
        session.close();
    }

    static void many(Connection connection) throws Exception {
        step("many messages to a listener of another connection");
        CountDownLatch left = new CountDownLatch(MANY);
        try (Connection other = new JmsConnectionFactory(url).createConnection()) {
            Session listening = other.createSession(Session.AUTO_ACKNOWLEDGE);
            int[] next = {0};
            Throwable[] wrong = {null};
            listening.createConsumer(listening.createTopic("ticks")).setMessageListener(message -> {
                try {
                    check(line(message) == next[0]++, "the messages in their order");
                } catch (Throwable error) {
                    wrong[0] = error;
                }
                left.countDown();
            });
            other.start();
            Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
            MessageProducer producer = session.createProducer(session.createTopic("ticks"));
            producer.setDeliveryMode(DeliveryMode.NON_PERSISTENT);
            long start = System.nanoTime();
            for (int number = 0; number < MANY; number++) {
                producer.send(session.createTextMessage(tick(number, "g")));
            }
            check(left.await(PATIENCE, TimeUnit.MILLISECONDS), "all messages in time, " + left.getCount() + " are missing");
            check(wrong[0] == null, "no error, got " + wrong[0]);
            System.err.println(MANY * 1_000_000_000L / (System.nanoTime() - start) + " messages/s");
            session.close();
        }
    }

    static void refused(Connection connection) throws Exception {
        step("kinds of subscriptions that are not offered");
        Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
        Topic topic = session.createTopic("ticks");
        fails("durable subscription", () -> session.createDurableConsumer(topic, "mine"));
        fails("selector", () -> session.createConsumer(topic, "price > 1"));
        fails("noLocal", () -> session.createConsumer(topic, null, true));
        fails("a queue", () -> session.createConsumer(session.createQueue("ticks")));
        fails("a queue", () -> session.createProducer(session.createQueue("ticks")));
        fails("temporary", session::createTemporaryQueue);
        fails("expected a topic of this bridge (ticks), got tocks", () -> session.createConsumer(session.createTopic("tocks")));
        fails("transactions are not implemented", () -> connection.createSession(Session.SESSION_TRANSACTED));
        fails("a shared subscription", () -> session.createSharedConsumer(topic, "ours"));
        fails("nobody", () -> session.unsubscribe("nobody"));
    }
}
