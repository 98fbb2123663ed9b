/** Checksums: h = 31 h + x over what was computed, in order, modulo 2^64; of floating numbers x are the bits. */
final class Fold {
    private Fold() {}

    static long add(long sum, long value) { return 31 * sum + value; }

    static long of(byte[] values) {
        long sum = 0;
        for (byte one : values) sum = 31 * sum + one;
        return sum;
    }

    static long of(int[] values) {
        long sum = 0;
        for (int one : values) sum = 31 * sum + one;
        return sum;
    }

    static long of(long... values) {
        long sum = 0;
        for (long one : values) sum = 31 * sum + one;
        return sum;
    }

    static long of(float... values) {
        long sum = 0;
        for (float one : values) sum = 31 * sum + Float.floatToIntBits(one);
        return sum;
    }

    static long of(double... values) {
        long sum = 0;
        for (double one : values) sum = 31 * sum + Double.doubleToLongBits(one);
        return sum;
    }
}
