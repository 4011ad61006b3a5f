// The scenario `durable` with ActiveMQ Artemis and its own client: the command line. The roles and what they print are those of
// `lab/src/contender/durable/mod.rs`.

package floe.lab;

import java.util.Locale;

final class Roles
{
    static void play(String[] words) throws Exception
    {
        final String role = words.length > 0 ? words[0] : "";
        if (role.equals("service") && words.length == 2)
        {
            // What starts it ends it.
            serve(new Case(words[1]));
            return;
        }
        if (!role.equals("publisher") || words.length != 5)
        {
            Main.die("expected: service CASE, or publisher CASE MILLIS ADDRESS INDEX");
        }
        Main.watchStdin();
        final Case work = new Case(words[1]);
        final double rate = work.isReplay()
            ? Replaying.rate(words[3], work.count())
            : rate(new Storing(words[3], work), Long.parseLong(words[2]) * 1_000_000);
        Main.announce(String.format(Locale.ROOT, "{\"calls\": [[%.2f,1]]}", rate));
    }

    private static void serve(Case work) throws Exception
    {
        final String address = Broker.start(work);
        if (work.isReplay())
        {
            Storing.storeAll(address, work.count());
        }
        Main.announce(address);
    }

    // Events in a second that are acknowledged in the time of a round, after a quarter of it.
    private static double rate(Storing storing, long round) throws Exception
    {
        storing.storeUntil(System.nanoTime() + round / 4);
        final long started = System.nanoTime();
        final long count = storing.storeUntil(started + round);
        return count * 1e9 / (System.nanoTime() - started);
    }

    private Roles()
    {
    }
}
