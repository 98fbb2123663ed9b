import java.math.BigInteger;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.spec.RSAPrivateCrtKeySpec;

/** Signatures (PKCS #1 v1.5 of SHA-256, the same every time) with a key whose primes are the next ones after two numbers. */
public final class RsaSignature extends Workload {
    protected int paramBits = 2048;
    private byte[] text, found;
    private PrivateKey key;

    @Override protected void prepare() throws Exception {
        SplitMix random = new SplitMix(14);
        BigInteger e = BigInteger.valueOf(65537), one = BigInteger.ONE;
        BigInteger p = random.oddInteger(paramBits / 2).setBit(paramBits / 2 - 2).nextProbablePrime();
        BigInteger q = random.oddInteger(paramBits / 2).setBit(paramBits / 2 - 2).nextProbablePrime();
        BigInteger d = e.modInverse(p.subtract(one).multiply(q.subtract(one)));
        key = KeyFactory.getInstance("RSA").generatePrivate(new RSAPrivateCrtKeySpec(
            p.multiply(q), e, d, p, q, d.mod(p.subtract(one)), d.mod(q.subtract(one)), q.modInverse(p)));
        text = random.bytes(1000);
    }

    @Override protected long payload() throws Exception {
        Signature signature = Signature.getInstance("SHA256withRSA");
        signature.initSign(key);
        signature.update(text);
        found = signature.sign();
        return 1;
    }

    @Override protected long checksum() { return Fold.of(found); }
}
