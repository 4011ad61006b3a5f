// The broker of the scenario `durable`, with the journal that `artemis create` sets up on Linux: asynchronous input and output
// without the page cache, and each write synced before it is acknowledged.

package floe.lab;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.apache.activemq.artemis.core.config.Configuration;
import org.apache.activemq.artemis.core.config.impl.ConfigurationImpl;
import org.apache.activemq.artemis.core.server.JournalType;
import org.apache.activemq.artemis.core.server.embedded.EmbeddedActiveMQ;
import org.apache.activemq.artemis.core.settings.impl.AddressFullMessagePolicy;
import org.apache.activemq.artemis.core.settings.impl.AddressSettings;
import org.apache.activemq.artemis.nativo.jlibaio.LibaioContext;

final class Broker
{
    private static final int UNLIMITED = -1;
    private static final int BLOCK_LEN = 4096;
    private static final int BLOCKS = 250;
    private static final int TRIES = 5;

    // Runs for as long as the process, and keeps its files in the folder that the lab gives to it.
    static String start(Case work) throws Exception
    {
        if (!LibaioContext.isLoaded())
        {
            Main.die("the journal of Artemis needs libaio.so.1 and its own library");
        }
        final Path folder = Files.createDirectory(Path.of(System.getenv("TMPDIR"), "artemis"));
        final String address = "tcp://127.0.0.1:" + Main.freePort();
        final Configuration configuration = new ConfigurationImpl();
        configuration.setSecurityEnabled(false);
        configuration.setJMXManagementEnabled(false);
        configuration.setBrokerInstance(new File(folder.toString()));
        configuration.setPersistenceEnabled(true);
        configuration.setJournalType(JournalType.ASYNCIO);
        configuration.setJournalDatasync(true);
        configuration.setJournalSyncNonTransactional(true);
        configuration.setJournalSyncTransactional(true);
        configuration.setJournalPoolFiles(10);
        configuration.setJournalBufferTimeout_AIO(syncedWriteNanos(folder));
        configuration.setPageSyncTimeout(configuration.getJournalBufferTimeout_AIO());
        // Else it stops when the disk is nearly full.
        configuration.setMaxDiskUsage(UNLIMITED);
        configuration.addAcceptorConfiguration("tcp", address + "?protocols=CORE");
        configuration.addAddressSetting("#", settings(work));
        new EmbeddedActiveMQ().setConfiguration(configuration).start();
        return address;
    }

    // Stored events stay in memory until more than half of the heap is full. Those of a replay shall come from the disk, so they go
    // into page files from the first on.
    private static AddressSettings settings(Case work)
    {
        final AddressSettings settings = new AddressSettings();
        if (work.isReplay())
        {
            settings.setAddressFullMessagePolicy(AddressFullMessagePolicy.PAGE);
            settings.setMaxSizeMessages(1);
        }
        return settings;
    }

    // How long the journal collects writes before it syncs them: as `artemis create` finds it, as long as the disk takes to sync
    // 4 KiB, by the best of some rows.
    private static int syncedWriteNanos(Path folder) throws IOException
    {
        final Path path = folder.resolve("journal-test");
        long best = Long.MAX_VALUE;
        try (FileChannel file =
                FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE))
        {
            file.write(ByteBuffer.allocate(BLOCKS * BLOCK_LEN));
            file.force(false);
            for (int row = 0; row < TRIES; ++row)
            {
                final long started = System.nanoTime();
                for (int block = 0; block < BLOCKS; ++block)
                {
                    file.write(ByteBuffer.allocate(BLOCK_LEN), (long) block * BLOCK_LEN);
                    file.force(false);
                }
                best = Math.min(best, System.nanoTime() - started);
            }
        }
        Files.delete(path);
        return (int) (best / BLOCKS);
    }

    private Broker()
    {
    }
}
