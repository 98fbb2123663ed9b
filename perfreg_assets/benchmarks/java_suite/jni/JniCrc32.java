import java.util.zip.CRC32;

/** CRC-32 of bytes, in the library's native code. */
public final class JniCrc32 extends Workload {
    protected int paramSize = 64;
    private byte[] text;
    private long found;

    @Override protected void prepare() { text = new SplitMix(19).bytes(paramSize); }

    @Override protected long payload() {
        CRC32 crc = new CRC32();
        crc.update(text, 0, text.length);
        found = crc.getValue();
        return 1;
    }

    @Override protected long checksum() { return found; }
}
