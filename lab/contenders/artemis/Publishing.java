// Publishes all events of a publisher: see `lab/src/contender/events/publishing.rs`.

package floe.lab;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

final class Publishing
{
    // Publishes an event; returns when the service has acknowledged it, or has taken it where events are batched.
    interface Publish
    {
        void publish(long number) throws Exception;
    }

    private static final long INTERVAL_NANOS = 2_000_000;
    private static final long PROBE_INTERVAL_MILLIS = 5;

    private final Task task;
    private final Publish publish;
    private long count;

    Publishing(Task task, Publish publish)
    {
        this.task = task;
        this.publish = publish;
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
        publish.publish(Number.encode(what, task.index(), value));
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
