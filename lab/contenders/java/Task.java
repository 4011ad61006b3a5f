// What a process shall do.

package floe.lab;

record Task(String work, int publishers, long millis, int index)
{
    // The name of a case: `latency-1-N`, `load-P-S`, `twoway-P-S`, `batched-P-S`, `batched100-P-S`, publishers first.
    Task(String name, long millis, int index)
    {
        this(name.split("-")[0], Integer.parseInt(name.split("-")[1]), millis, index);
    }

    boolean isLatency()
    {
        return work.equals("latency");
    }

    // Events say when they were published.
    boolean isTimed()
    {
        return isLatency() || work.equals("load");
    }

    boolean isBatched()
    {
        return work.equals("batched") || work.equals("batched100");
    }

    Messaging.Mode mode()
    {
        return isBatched() ? Messaging.Mode.BATCHED : Messaging.Mode.ACKNOWLEDGED;
    }

    // Events that a publisher hands over together.
    int batchLen()
    {
        return !isBatched() ? 1 : work.equals("batched") ? 1000 : 100;
    }
}
