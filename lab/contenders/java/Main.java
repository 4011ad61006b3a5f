// How a process of the lab in Java begins, speaks and ends. What it does is in the `Roles` of its program.

package floe.lab;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.CountDownLatch;

public final class Main
{
    public static void main(String[] words) throws Exception
    {
        try
        {
            Roles.play(words);
        }
        catch (Exception error)
        {
            error.printStackTrace();
            die("the process failed: " + String.join(" ", words));
        }
    }

    // Ends the process when its stdin does: when the lab is done with it, or is gone. A line says that a publisher shall publish.
    static CountDownLatch watchStdin()
    {
        final CountDownLatch asked = new CountDownLatch(1);
        new Thread(() -> watchStdin(asked)).start();
        return asked;
    }

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
