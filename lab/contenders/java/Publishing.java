// Publishes all events of a publisher: see `lab/src/contender/events/publishing.rs`.

package floe.lab;

import java.nio.ByteBuffer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

final class Publishing
{
    private static final long INTERVAL_NANOS = 2_000_000;
    private static final long PROBE_INTERVAL_MILLIS = 5;

    private final Task task;
    private final Messaging.Publisher publisher;
    private long count;

    Publishing(Task task, Messaging.Publisher publisher)
    {
        this.task = task;
        this.publisher = publisher;
    }

    void run(CountDownLatch asked) throws Exception
    {
        do
        {
            say(Number.PROBE, 0);
        } while (!asked.await(PROBE_INTERVAL_MILLIS, TimeUnit.MILLISECONDS));
        final long round = task.millis() * 1_000_000;
        work(Number.now() + round / 4);
        say(Number.MARK, count);
        work(Number.now() + round);
        say(Number.END, count);
        Main.announce("{\"published\": " + count + "}");
    }

    private void say(int what, long value) throws Exception
    {
        final long number = Number.encode(what, task.index(), value);
        publisher.publish(ByteBuffer.allocate(Long.BYTES).putLong(number).array());
    }

    // One event or batch at least.
    private void work(long until) throws Exception
    {
        if (task.isLatency())
        {
            long due = Number.now() + INTERVAL_NANOS / 2;
            do
            {
                for (long rest = due - Number.now(); rest > 0; rest = due - Number.now())
                {
                    LockSupport.parkNanos(rest);
                }
                say(Number.TICK, Number.now());
                ++count;
                due += INTERVAL_NANOS;
            } while (due < until);
            return;
        }
        if (task.isTimed())
        {
            do
            {
                say(Number.TICK, Number.now());
                ++count;
            } while (Number.now() < until);
            return;
        }
        final int len = task.batchLen();
        do
        {
            for (int index = 0; index < len; ++index)
            {
                say(Number.TICK, count++);
            }
        } while (Number.now() < until);
    }
}
