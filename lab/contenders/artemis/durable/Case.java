// What there is to do: `inflight-N`, `batch-N`, `replay-N`. See `lab/src/contender/durable/case.rs`.

package floe.lab;

record Case(String kind, int count)
{
    Case(String name)
    {
        this(name.split("-")[0], Integer.parseInt(name.split("-")[1]));
    }

    // Whether all answers are awaited before more is published.
    boolean isBatched()
    {
        return kind.equals("batch");
    }

    boolean isReplay()
    {
        return kind.equals("replay");
    }
}
