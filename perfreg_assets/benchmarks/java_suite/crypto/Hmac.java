import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Authentication codes of bytes. */
public final class Hmac extends Workload {
    protected int paramSize = 65536;
    protected String paramAlgorithm = "HmacSHA256";
    private byte[] text, found;
    private Mac mac;

    @Override protected void prepare() throws Exception {
        SplitMix random = new SplitMix(13);
        mac = Mac.getInstance(paramAlgorithm);
        mac.init(new SecretKeySpec(random.bytes(32), paramAlgorithm));
        text = random.bytes(paramSize);
    }

    @Override protected long payload() {
        found = mac.doFinal(text);
        return paramSize;
    }

    @Override protected long checksum() { return Fold.of(found); }
}
