import java.math.BigInteger;

/** Arithmetic of long numbers in limbs of 15 bits (products fit into an int) or 31 (into a long): a factorial, squared. */
public final class LongArithmetic extends Workload {
    protected int paramFactorial = 500;
    protected int paramLimbBits = 31;
    private int[] square;

    @Override protected void prepare() {
        if (paramLimbBits != 15 && paramLimbBits != 31) throw new IllegalArgumentException("paramLimbBits is 15 or 31");
        if (paramFactorial > 32767) throw new IllegalArgumentException("paramFactorial is at most 32767");
    }

    @Override protected long payload() {
        square = paramLimbBits == 15 ? narrow() : wide();
        return paramFactorial;
    }

    private int[] narrow() {
        int[] limbs = new int[8 + paramFactorial];
        int count = 1, mask = (1 << 15) - 1;
        limbs[0] = 1;
        for (int factor = 2; factor <= paramFactorial; factor++) {
            int carry = 0;
            for (int place = 0; place < count; place++) {
                int product = limbs[place] * factor + carry;
                limbs[place] = product & mask;
                carry = product >>> 15;
            }
            if (carry > 0) limbs[count++] = carry;
        }
        int[] made = new int[2 * count];
        for (int left = 0; left < count; left++) {
            int carry = 0;
            for (int right = 0; right < count; right++) {
                int product = limbs[left] * limbs[right] + made[left + right] + carry;
                made[left + right] = product & mask;
                carry = product >>> 15;
            }
            made[left + count] = carry;
        }
        return made;
    }

    private int[] wide() {
        int[] limbs = new int[8 + paramFactorial];
        int count = 1;
        long mask = (1L << 31) - 1;
        limbs[0] = 1;
        for (int factor = 2; factor <= paramFactorial; factor++) {
            long carry = 0;
            for (int place = 0; place < count; place++) {
                long product = (long) limbs[place] * factor + carry;
                limbs[place] = (int) (product & mask);
                carry = product >>> 31;
            }
            if (carry > 0) limbs[count++] = (int) carry;
        }
        int[] made = new int[2 * count];
        for (int left = 0; left < count; left++) {
            long carry = 0;
            for (int right = 0; right < count; right++) {
                long product = (long) limbs[left] * limbs[right] + made[left + right] + carry;
                made[left + right] = (int) (product & mask);
                carry = product >>> 31;
            }
            made[left + count] = (int) carry;
        }
        return made;
    }

    @Override protected long checksum() {
        BigInteger found = BigInteger.ZERO;
        for (int place = square.length - 1; place >= 0; place--) found = found.shiftLeft(paramLimbBits).add(BigInteger.valueOf(square[place]));
        return Fold.of(found.toString(16).getBytes());
    }
}
