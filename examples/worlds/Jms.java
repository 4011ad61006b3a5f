// A JMS program at a topic of events: `java -cp 'classes:jars/*' Jms subscribe ADDRESS COUNT`, or
// `... publish ADDRESS WORLD SEED...`. It prints `ready` when it is subscribed, then each
// event as a line of JSON.
//
// JMS_BODY=map publishes MapMessages; what it gets may be of both types. JMS_ACK=N acknowledges by the session, each
// N messages. JMS_USER and JMS_PASSWORD say who it is.

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import jakarta.jms.*;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.qpid.jms.JmsConnectionFactory;

public class Jms {
    static final ObjectMapper JSON = new ObjectMapper();
    static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    static final long PATIENCE = 60_000;

    public static void main(String[] arguments) throws Exception {
        String url = "amqp://" + arguments[1] + "?" + System.getenv().getOrDefault("JMS_OPTIONS", "");
        JmsConnectionFactory factory = new JmsConnectionFactory(url);
        factory.setUsername(System.getenv("JMS_USER"));
        factory.setPassword(System.getenv("JMS_PASSWORD"));
        try (Connection connection = factory.createConnection()) {
            connection.start();
            if (arguments[0].equals("subscribe")) {
                subscribe(connection, Integer.parseInt(arguments[2]));
            } else {
                publish(connection, arguments);
            }
        }
        System.exit(0);
    }

    static void subscribe(Connection connection, int count) throws Exception {
        int group = Integer.parseInt(System.getenv().getOrDefault("JMS_ACK", "0"));
        Session session = connection.createSession(group > 0 ? Session.CLIENT_ACKNOWLEDGE : Session.AUTO_ACKNOWLEDGE);
        MessageConsumer consumer = session.createConsumer(session.createTopic("ticks"));
        OUT.println("ready");
        for (int number = 1; number <= count; number++) {
            Message message = consumer.receive(PATIENCE);
            if (message == null) {
                throw new AssertionError("expected an event within " + PATIENCE + " ms");
            }
            if (!message.getStringProperty("operation").equals("tick")) {
                throw new AssertionError("expected the operation tick, got " + message);
            }
            OUT.println(JSON.writeValueAsString(message instanceof MapMessage map ? ofMap(map) : ofText(message)));
            if (group > 0 && number % group == 0) {
                message.acknowledge();
            }
        }
        consumer.close();
    }

    static ObjectNode ofText(Message message) throws Exception {
        ObjectNode tick = (ObjectNode) JSON.readTree(message.getBody(String.class));
        byte[] raw = bytes(JSON.convertValue(tick.get("raw"), int[].class));
        tick.put("raw", HexFormat.of().formatHex(raw));
        return tick;
    }

    static byte[] bytes(int[] numbers) {
        byte[] bytes = new byte[numbers.length];
        for (int at = 0; at < numbers.length; at++) {
            bytes[at] = (byte) numbers[at];
        }
        return bytes;
    }

    static ObjectNode ofMap(MapMessage map) throws Exception {
        ObjectNode tick = JSON.createObjectNode();
        tick.put("side", map.getString("side"));
        ObjectNode venue = tick.putObject("venue");
        venue.put("name", map.getString("venue.name"));
        venue.put("line", map.getInt("venue.line"));
        ArrayNode book = tick.putArray("book");
        for (int at = 0; at < map.getInt("book.length"); at++) {
            ObjectNode level = book.addObject();
            level.put("price", map.getDouble("book[" + at + "].price"));
            level.put("size", map.getLong("book[" + at + "].size"));
        }
        tick.put("raw", HexFormat.of().formatHex(map.getBytes("raw")));
        tick.put("firm", map.getBoolean("firm"));
        tick.put("id", map.getLong("id"));
        tick.put("price", map.getDouble("price"));
        tick.put("text", map.getString("text"));
        return tick;
    }

    static void publish(Connection connection, String[] arguments) throws Exception {
        boolean isMap = "map".equals(System.getenv("JMS_BODY"));
        Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
        MessageProducer producer = session.createProducer(session.createTopic("ticks"));
        for (int at = 3; at < arguments.length; at++) {
            long seed = Long.parseLong(arguments[at]);
            Message message = isMap ? map(session, arguments[2], seed) : text(session, arguments[2], seed);
            message.setStringProperty("operation", "tick");
            // It returns when the broker has acknowledged, because the message is persistent.
            producer.send(message);
        }
    }

    static byte[] raw(long seed) {
        return new byte[] {0, 1, 127, (byte) 128, (byte) 255, (byte) (seed % 256)};
    }

    static Message text(Session session, String world, long seed) throws Exception {
        ObjectNode tick = JSON.createObjectNode();
        tick.put("side", seed % 2 == 0 ? "buy" : "sell");
        tick.putObject("venue").put("name", "Zürich 東京 " + world).put("line", (int) seed);
        ArrayNode book = tick.putArray("book");
        book.addObject().put("price", seed + 0.25).put("size", -1099511627776L - seed);
        book.addObject().put("price", -0.5).put("size", 9007199254740993L);
        ArrayNode raw = tick.putArray("raw");
        for (byte one : raw(seed)) {
            raw.add(one & 0xFF);
        }
        tick.put("firm", seed % 2 != 0).put("id", 4611686018427387904L + seed).put("price", seed / 8.0);
        tick.put("text", "naïve ✓ " + world + " " + seed);
        return session.createTextMessage(JSON.writeValueAsString(tick));
    }

    static Message map(Session session, String world, long seed) throws Exception {
        MapMessage map = session.createMapMessage();
        map.setString("side", seed % 2 == 0 ? "buy" : "sell");
        map.setString("venue.name", "Zürich 東京 " + world);
        map.setInt("venue.line", (int) seed);
        map.setDouble("book[0].price", seed + 0.25);
        map.setLong("book[0].size", -1099511627776L - seed);
        map.setDouble("book[1].price", -0.5);
        map.setLong("book[1].size", 9007199254740993L);
        map.setBytes("raw", raw(seed));
        map.setBoolean("firm", seed % 2 != 0);
        map.setLong("id", 4611686018427387904L + seed);
        map.setDouble("price", seed / 8.0);
        map.setString("text", "naïve ✓ " + world + " " + seed);
        return map;
    }
}
