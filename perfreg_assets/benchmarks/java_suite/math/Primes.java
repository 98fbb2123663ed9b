/** The primes below a number by the sieve of Eratosthenes, a byte or a bit for each. */
public final class Primes extends Workload {
    protected int paramBelow = 1000000;
    protected String paramType = "byte";
    private byte[] bytes;
    private long[] bits;

    @Override protected long payload() {
        if (paramType.equals("byte")) {
            byte[] struck = new byte[paramBelow];
            for (int one = 2; one * one < paramBelow; one++)
                if (struck[one] == 0) for (int other = one * one; other < paramBelow; other += one) struck[other] = 1;
            bytes = struck;
        } else if (paramType.equals("bit")) {
            long[] struck = new long[(paramBelow >> 6) + 1];
            for (int one = 2; one * one < paramBelow; one++)
                if ((struck[one >> 6] >>> (one & 63) & 1) == 0)
                    for (int other = one * one; other < paramBelow; other += one) struck[other >> 6] |= 1L << (other & 63);
            bits = struck;
        } else throw noType(paramType);
        return paramBelow;
    }

    @Override protected long checksum() {
        long sum = 0;
        for (int one = 2; one < paramBelow; one++)
            if (bytes != null ? bytes[one] == 0 : (bits[one >> 6] >>> (one & 63) & 1) == 0) sum = Fold.add(sum, one);
        return sum;
    }
}
