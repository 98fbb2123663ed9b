import java.util.zip.Deflater;
import java.util.zip.Inflater;

/** Unpacking by the library's zlib. */
public final class Inflate extends Workload {
    protected int paramSize = 65536;
    private byte[] packed, found;
    private int length;

    @Override protected void prepare() {
        packed = new byte[2 * paramSize + 64];
        Deflater deflater = new Deflater(6);
        deflater.setInput(SplitMix.text(paramSize));
        deflater.finish();
        length = deflater.deflate(packed);
        deflater.end();
        found = new byte[paramSize];
    }

    @Override protected long payload() throws Exception {
        Inflater inflater = new Inflater();
        inflater.setInput(packed, 0, length);
        int count = 0;
        while (!inflater.finished()) count += inflater.inflate(found, count, Math.max(1, found.length - count));
        inflater.end();
        return count;
    }

    @Override protected long checksum() { return Fold.of(found); }
}
