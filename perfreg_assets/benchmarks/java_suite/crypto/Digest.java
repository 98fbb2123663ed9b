import java.security.MessageDigest;

/** Digests of bytes: SHA-256 works in words of 32 bits, SHA-512 of 64. */
public final class Digest extends Workload {
    protected int paramSize = 65536;
    protected String paramAlgorithm = "SHA-256";
    private byte[] text, found;
    private MessageDigest digest;

    @Override protected void prepare() throws Exception {
        text = new SplitMix(12).bytes(paramSize);
        digest = MessageDigest.getInstance(paramAlgorithm);
    }

    @Override protected long payload() {
        found = digest.digest(text);
        return paramSize;
    }

    @Override protected long checksum() { return Fold.of(found); }
}
