import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.zip.CRC32;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;

/** There and back through the library's streams. */
public final class Gzip extends Workload {
    protected int paramSize = 65536;
    private byte[] text, found;

    @Override protected void prepare() { text = SplitMix.text(paramSize); }

    @Override protected long payload() throws Exception {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream out = new GZIPOutputStream(packed)) { out.write(text); }
        ByteArrayOutputStream back = new ByteArrayOutputStream(paramSize);
        byte[] part = new byte[8192];
        try (GZIPInputStream in = new GZIPInputStream(new ByteArrayInputStream(packed.toByteArray()))) {
            for (int count = in.read(part); count > 0; count = in.read(part)) back.write(part, 0, count);
        }
        found = back.toByteArray();
        return paramSize;
    }

    @Override protected long checksum() {
        CRC32 crc = new CRC32();
        crc.update(found);
        return crc.getValue();
    }
}
