import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** Encryption with a tag of 128 bits; the initialisation vector counts, as none may be used twice. */
public final class AesGcm extends Workload {
    protected int paramSize = 16384, paramKeyBits = 128;
    private byte[] text, sealed;
    private final byte[] vector = new byte[12];
    private SecretKeySpec key;
    private Cipher cipher;
    private int number;

    @Override protected void prepare() throws Exception {
        SplitMix random = new SplitMix(11);
        key = new SecretKeySpec(random.bytes(paramKeyBits / 8), "AES");
        text = random.bytes(paramSize);
        cipher = Cipher.getInstance("AES/GCM/NoPadding");
    }

    @Override protected long payload() throws Exception {
        number++;
        for (int place = 0; place < 4; place++) vector[8 + place] = (byte) (number >>> 24 - 8 * place);
        cipher.init(Cipher.ENCRYPT_MODE, key, new GCMParameterSpec(128, vector));
        sealed = cipher.doFinal(text);
        return paramSize;
    }

    /** Of the first message; of later ones that they open to the text, as that one does. */
    @Override protected long checksum() throws Exception {
        Cipher other = Cipher.getInstance("AES/GCM/NoPadding");
        other.init(Cipher.DECRYPT_MODE, key, new GCMParameterSpec(128, vector));
        if (!java.util.Arrays.equals(text, other.doFinal(sealed))) return -1;
        other.init(Cipher.ENCRYPT_MODE, key, new GCMParameterSpec(128, new byte[] {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
        return Fold.of(other.doFinal(text));
    }
}
