// The scenarios `events` and `pubsub-rtt` in Java: the command line. The roles and what they print are those of
// `lab/src/contender/events/mod.rs` and `lab/src/contender/topics/mod.rs`. What carries the events is the `Messaging` of a
// contender.

package floe.lab;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CountDownLatch;

final class Roles
{
    private static final String TOPIC = "tick";

    static void play(String[] words) throws Exception
    {
        final String role = words.length > 0 ? words[0] : "";
        final boolean isService = role.equals("service") && words.length == 2;
        final boolean isClient =
            List.of("publisher", "subscriber", "pinger", "replier").contains(role) && words.length == 5;
        if (!isService && !isClient)
        {
            Main.die("expected: service CASE, or publisher, subscriber, pinger or replier, CASE MILLIS ADDRESS INDEX");
        }
        final CountDownLatch asked = Main.watchStdin();
        final Messaging messaging = Contender.messaging();
        if (isService)
        {
            final String address = messaging.serve();
            Main.announce("{\"address\": \"" + address + "\", \"pid\": " + ProcessHandle.current().pid() + "}");
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
            messaging.subscribe(words[3], TOPIC, task.mode(), event -> tally.take(ByteBuffer.wrap(event).getLong()));
        }
    }

    private Roles()
    {
    }
}
