import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;

/** Keys from passwords: PBKDF2 with so many rounds. */
public final class PasswordKey extends Workload {
    protected int paramRounds = 1000;
    protected String paramAlgorithm = "PBKDF2WithHmacSHA256";
    private byte[] salt, found;

    @Override protected void prepare() { salt = new SplitMix(15).bytes(16); }

    @Override protected long payload() throws Exception {
        PBEKeySpec spec = new PBEKeySpec("correct horse battery staple".toCharArray(), salt, paramRounds, 256);
        found = SecretKeyFactory.getInstance(paramAlgorithm).generateSecret(spec).getEncoded();
        return paramRounds;
    }

    @Override protected long checksum() { return Fold.of(found); }
}
