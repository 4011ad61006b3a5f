// The scenarios `events` and `pubsub-rtt` in Java: the command line. The roles and what they print are those of
// `lab/src/contender/events/mod.rs` and `lab/src/contender/topics/mod.rs`. What carries the events is the `Messaging` of a
// contender.

package floe.lab;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CountDownLatch;

public final class Main
{
    private static final String TOPIC = "tick";

    public static void main(String[] words) throws Exception
    {
        final String role = words.length > 0 ? words[0] : "";
        final boolean isService = role.equals("service") && words.length == 2;
        final boolean isClient =
            List.of("publisher", "subscriber", "pinger", "replier").contains(role) && words.length == 5;
        if (!isService && !isClient)
        {
            die("expected: service CASE, or publisher, subscriber, pinger or replier, CASE MILLIS ADDRESS INDEX");
        }
        final CountDownLatch asked = new CountDownLatch(1);
        new Thread(() -> watchStdin(asked)).start();
        try
        {
            final Messaging messaging = Contender.messaging();
            if (isService)
            {
                final String address = messaging.serve();
                announce("{\"address\": \"" + address + "\", \"pid\": " + ProcessHandle.current().pid() + "}");
                return;
            }
            if (role.equals("pinger"))
            {
                Pinging.ping(messaging, words[1], words[3]);
                return;
            }
            if (role.equals("replier"))
            {
                Pinging.reply(messaging, words[1], words[3]);
                return;
            }
            final Task task = new Task(words[1], Long.parseLong(words[2]), Integer.parseInt(words[4]));
            if (role.equals("publisher"))
            {
                new Publishing(task, messaging.publisher(words[3], TOPIC, task.mode())).run(asked);
            }
            else
            {
                final Tally tally = new Tally(task);
                messaging.subscribe(
                    words[3], TOPIC, task.mode(), event -> tally.take(ByteBuffer.wrap(event).getLong()));
            }
        }
        catch (Exception error)
        {
            error.printStackTrace();
            die("the " + role + " failed");
        }
    }

    // A line says that a publisher shall publish; the end that all is over.
    private static void watchStdin(CountDownLatch asked)
    {
        try (BufferedReader stdin = new BufferedReader(new InputStreamReader(System.in)))
        {
            while (stdin.readLine() != null)
            {
                asked.countDown();
            }
        }
        catch (IOException ignored)
        {
            // As good as an end.
        }
        Runtime.getRuntime().halt(0);
    }

    // It was free a moment ago.
    static int freePort() throws IOException
    {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress()))
        {
            return socket.getLocalPort();
        }
    }

    // Prints a line that the lab waits for.
    static void announce(String line)
    {
        System.out.println(line);
        System.out.flush();
    }

    // From any thread.
    static void die(String what)
    {
        System.err.println(what);
        System.err.flush();
        Runtime.getRuntime().halt(1);
    }
}
