// The number in an event: what it is, whose, and which. `lab/src/contender/events/number.rs` has the layout.

package floe.lab;

final class Number
{
    static final int PROBE = 0;
    static final int TICK = 1;
    static final int MARK = 2;
    static final int END = 3;

    static long encode(int what, int publisher, long value)
    {
        return (long) what << 61 | (long) publisher << 56 | value;
    }

    static int what(long number)
    {
        return (int) (number >>> 61 & 3);
    }

    static int publisher(long number)
    {
        return (int) (number >>> 56 & 31);
    }

    static long value(long number)
    {
        return number & (1L << 56) - 1;
    }

    // Nanoseconds on the one clock that all processes of a host share. Observed with OpenJDK 17 on Linux: it is that of
    // CLOCK_MONOTONIC, which the documentation leaves open.
    static long now()
    {
        return System.nanoTime();
    }

    private Number()
    {
    }
}
