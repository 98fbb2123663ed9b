import java.math.BigInteger;

/** Numbers that look random and are the same everywhere (SplitMix64, seeded). */
final class SplitMix {
    private long state;

    SplitMix(long seed) { state = seed; }

    long nextLong() {
        long z = (state += 0x9E3779B97F4A7C15L);
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    /** 0 to bound - 1, from the upper 31 bits. */
    int nextInt(int bound) { return (int) ((nextLong() >>> 33) % bound); }

    /** 0 to 1, without 1. */
    double nextDouble() { return (nextLong() >>> 11) * 0x1p-53; }

    byte[] bytes(int size) {
        byte[] made = new byte[size];
        for (int place = 0; place < size; place++) made[place] = (byte) (nextLong() >>> 56);
        return made;
    }

    /** A number of exactly so many bits, odd. */
    BigInteger oddInteger(int bits) { return new BigInteger(1, bytes(bits / 8)).setBit(bits - 1).setBit(0); }

    /** Bytes that pack about as well as text does: words of a few letters, some much more frequent than others. */
    static byte[] text(int size) {
        SplitMix random = new SplitMix(7);
        byte[] made = new byte[size];
        int place = 0;
        while (place < size) {
            int word = Math.min(random.nextInt(1000), random.nextInt(1000));
            for (int rest = word + 1; rest > 0 && place < size; rest /= 10) made[place++] = (byte) ('a' + rest % 10 + word % 16);
            if (place < size) made[place++] = ' ';
        }
        return made;
    }
}
