// What a subscriber makes of the events that it gets: are they all there, in order, and how fast did they come? See
// `lab/src/contender/events/tally.rs`.

package floe.lab;

import java.util.Locale;

final class Tally
{
    private static final class Heard
    {
        boolean isHeard;
        boolean isMeasured;
        long count;
        long last;
    }

    private final Task task;
    private final Heard[] heard;
    private int unheard;
    private int unended;
    // Nanoseconds; 0 before the first mark, and while it is open.
    private long from;
    private long until;
    private long counted;
    private long[] delays = new long[1 << 12];
    private int delayCount;

    Tally(Task task)
    {
        this.task = task;
        heard = new Heard[task.publishers()];
        for (int index = 0; index < heard.length; ++index)
        {
            heard[index] = new Heard();
        }
        unheard = heard.length;
        unended = heard.length;
    }

    // One thread at a time.
    void take(long number)
    {
        final int index = Number.publisher(number);
        final long value = Number.value(number);
        if (index >= heard.length)
        {
            Main.die("expected " + heard.length + " publishers, got number " + index);
        }
        final Heard publisher = heard[index];
        switch (Number.what(number))
        {
            case Number.PROBE:
                if (!publisher.isHeard)
                {
                    publisher.isHeard = true;
                    if (--unheard == 0)
                    {
                        Main.announce("ready");
                    }
                }
                break;
            case Number.TICK:
                tick(publisher, index, value);
                break;
            case Number.MARK:
                expectCount(publisher, index, value);
                publisher.isMeasured = true;
                from = from == 0 ? Number.now() : from;
                break;
            default:
                expectCount(publisher, index, value);
                if (--unended == 0)
                {
                    report();
                }
                break;
        }
    }

    private void tick(Heard publisher, int index, long value)
    {
        final boolean isNext = task.isTimed() ? value > publisher.last : value == publisher.count;
        if (!isNext)
        {
            final long expected = task.isTimed() ? publisher.last + 1 : publisher.count;
            Main.die("expected tick " + expected + " of publisher " + index + ", got " + value +
                ": events were lost, or came twice or out of order");
        }
        ++publisher.count;
        publisher.last = value;
        if (task.isTimed())
        {
            if (publisher.isMeasured)
            {
                record(Number.now() - value);
            }
            return;
        }
        if (from == 0 || until != 0)
        {
            return;
        }
        // What comes after the time of a round is not counted, and how much later says nothing. To read the clock takes
        // as long as the rest of it.
        if (counted % 32 == 0 && Number.now() >= end())
        {
            until = end();
            return;
        }
        ++counted;
    }

    private long end()
    {
        return from + task.millis() * 1_000_000;
    }

    private void record(long delay)
    {
        if (delayCount == delays.length)
        {
            delays = java.util.Arrays.copyOf(delays, 2 * delayCount);
        }
        delays[delayCount++] = delay;
    }

    private static void expectCount(Heard publisher, int index, long count)
    {
        if (publisher.count != count)
        {
            Main.die("expected " + count + " ticks of publisher " + index + ", got " + publisher.count +
                ": events were lost");
        }
    }

    private void report()
    {
        long delivered = 0;
        for (Heard publisher : heard)
        {
            delivered += publisher.count;
        }
        final StringBuilder line = new StringBuilder("{\"calls\": [");
        if (task.isTimed())
        {
            for (int index = 0; index < delayCount; ++index)
            {
                line.append(index == 0 ? "[" : ",[").append(delays[index]).append(",1]");
            }
        }
        else
        {
            until = until == 0 ? Math.min(Number.now(), end()) : until;
            final double rate = counted * 1e9 / Math.max(until - from, 1);
            line.append(String.format(Locale.ROOT, "[%.2f,1]", rate));
        }
        Main.announce(line.append("], \"delivered\": ").append(delivered).append('}').toString());
    }
}
