import java.math.BigInteger;

/** Powers modulo an odd number of so many bits, by the library. */
public final class ModPow extends Workload {
    protected int paramBits = 1024;
    private BigInteger base, exponent, modulus, found;

    @Override protected void prepare() {
        SplitMix random = new SplitMix(2);
        base = random.oddInteger(paramBits);
        exponent = random.oddInteger(paramBits);
        modulus = random.oddInteger(paramBits);
    }

    @Override protected long payload() {
        found = base.modPow(exponent, modulus);
        return 1;
    }

    @Override protected long checksum() { return Fold.of(found.toString(16).getBytes()); }
}
