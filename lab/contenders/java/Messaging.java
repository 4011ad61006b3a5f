// What a contender in Java is to the roles that all of them share: topics that carry bytes. Each has a `Contender.java` with
// `static Messaging messaging()`.

package floe.lab;

interface Messaging
{
    // What a subscriber does with an event; one thread at a time.
    interface Take
    {
        void take(byte[] event) throws Exception;
    }

    interface Publisher
    {
        // Several threads may publish, one at a time.
        void publish(byte[] event) throws Exception;
    }

    // Whether the service answers each event of a publisher, and a subscriber acknowledges each event by itself.
    enum Mode { ACKNOWLEDGED, PLAIN, BATCHED }

    // Runs the service, and gives its address; it lives as long as the process.
    String serve() throws Exception;

    Publisher publisher(String address, String topic, Mode mode) throws Exception;

    // For as long as the process lives.
    void subscribe(String address, String topic, Mode mode, Take take) throws Exception;
}
