/** The fast Fourier transform of complex numbers, radix 2 in place. */
public final class FourierTransform extends Workload {
    protected int paramSize = 1024;
    private double[] reals, imaginaries, cosines, sines, real, imaginary;

    @Override protected void prepare() {
        if (Integer.bitCount(paramSize) != 1) throw new IllegalArgumentException("paramSize is a power of two");
        SplitMix random = new SplitMix(4);
        reals = new double[paramSize]; imaginaries = new double[paramSize];
        cosines = new double[paramSize / 2]; sines = new double[paramSize / 2];
        for (int place = 0; place < paramSize; place++) { reals[place] = random.nextDouble() - 0.5; imaginaries[place] = random.nextDouble() - 0.5; }
        for (int place = 0; place < paramSize / 2; place++) {
            cosines[place] = Math.cos(2 * Math.PI * place / paramSize);
            sines[place] = -Math.sin(2 * Math.PI * place / paramSize);
        }
    }

    @Override protected long payload() {
        double[] re = reals.clone(), im = imaginaries.clone();
        int size = paramSize;
        for (int place = 1, turned = 0; place < size; place++) {
            int bit = size >> 1;
            for (; (turned & bit) != 0; bit >>= 1) turned ^= bit;
            turned ^= bit;
            if (place < turned) {
                double one = re[place]; re[place] = re[turned]; re[turned] = one;
                one = im[place]; im[place] = im[turned]; im[turned] = one;
            }
        }
        for (int half = 1; half < size; half <<= 1) {
            int step = size / (2 * half);
            for (int begin = 0; begin < size; begin += 2 * half)
                for (int place = begin, turn = 0; place < begin + half; place++, turn += step) {
                    double c = cosines[turn], s = sines[turn];
                    double x = re[place + half] * c - im[place + half] * s, y = re[place + half] * s + im[place + half] * c;
                    re[place + half] = re[place] - x; im[place + half] = im[place] - y;
                    re[place] += x; im[place] += y;
                }
        }
        real = re; imaginary = im;
        return size;
    }

    /** Of the values in thousandths: the last digits depend on the library's sine. */
    @Override protected long checksum() {
        long sum = 0;
        for (int place = 0; place < paramSize; place++)
            sum = Fold.add(Fold.add(sum, (long) Math.floor(1000 * real[place])), (long) Math.floor(1000 * imaginary[place]));
        return sum;
    }
}
