import java.util.zip.Deflater;
import java.util.zip.Inflater;

/** Packing by the library's zlib; checked by unpacking, because versions of zlib pack differently. */
public final class Deflate extends Workload {
    protected int paramSize = 65536, paramLevel = 6;
    private byte[] text, packed;
    private int length;

    @Override protected void prepare() {
        text = SplitMix.text(paramSize);
        packed = new byte[2 * paramSize + 64];
    }

    @Override protected long payload() {
        Deflater deflater = new Deflater(paramLevel);
        deflater.setInput(text);
        deflater.finish();
        length = 0;
        while (!deflater.finished()) length += deflater.deflate(packed, length, packed.length - length);
        deflater.end();
        return paramSize;
    }

    @Override protected long checksum() throws Exception {
        Inflater inflater = new Inflater();
        inflater.setInput(packed, 0, length);
        byte[] found = new byte[paramSize + 1];
        int count = inflater.inflate(found);
        inflater.end();
        if (2 * length > paramSize) throw new IllegalStateException(paramSize + " bytes were packed into " + length);
        return Fold.of(java.util.Arrays.copyOf(found, count));
    }
}
