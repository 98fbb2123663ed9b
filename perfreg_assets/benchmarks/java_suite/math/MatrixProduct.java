/** The product of two square matrices of whole numbers from 0 to 15: exact in every type. */
public final class MatrixProduct extends Workload {
    protected int paramSize = 128;
    protected String paramType = "double";
    private int[] left, right, ints;
    private long[] leftLongs, rightLongs, longs;
    private float[] leftFloats, rightFloats, floats;
    private double[] leftDoubles, rightDoubles, doubles;

    @Override protected void prepare() {
        int count = paramSize * paramSize;
        SplitMix random = new SplitMix(3);
        left = new int[count]; right = new int[count];
        leftLongs = new long[count]; rightLongs = new long[count];
        leftFloats = new float[count]; rightFloats = new float[count];
        leftDoubles = new double[count]; rightDoubles = new double[count];
        for (int place = 0; place < count; place++) {
            leftDoubles[place] = leftFloats[place] = leftLongs[place] = left[place] = random.nextInt(16);
            rightDoubles[place] = rightFloats[place] = rightLongs[place] = right[place] = random.nextInt(16);
        }
    }

    @Override protected long payload() {
        switch (paramType) {
            case "int": ofInts(); break;
            case "long": ofLongs(); break;
            case "float": ofFloats(); break;
            case "double": ofDoubles(); break;
            default: throw noType(paramType);
        }
        return (long) paramSize * paramSize * paramSize;
    }

    private void ofInts() {
        int size = paramSize;
        int[] made = new int[size * size];
        for (int row = 0; row < size; row++)
            for (int inner = 0; inner < size; inner++) {
                int one = left[row * size + inner];
                for (int column = 0; column < size; column++) made[row * size + column] += one * right[inner * size + column];
            }
        ints = made;
    }

    private void ofLongs() {
        int size = paramSize;
        long[] made = new long[size * size];
        for (int row = 0; row < size; row++)
            for (int inner = 0; inner < size; inner++) {
                long one = leftLongs[row * size + inner];
                for (int column = 0; column < size; column++) made[row * size + column] += one * rightLongs[inner * size + column];
            }
        longs = made;
    }

    private void ofFloats() {
        int size = paramSize;
        float[] made = new float[size * size];
        for (int row = 0; row < size; row++)
            for (int inner = 0; inner < size; inner++) {
                float one = leftFloats[row * size + inner];
                for (int column = 0; column < size; column++) made[row * size + column] += one * rightFloats[inner * size + column];
            }
        floats = made;
    }

    private void ofDoubles() {
        int size = paramSize;
        double[] made = new double[size * size];
        for (int row = 0; row < size; row++)
            for (int inner = 0; inner < size; inner++) {
                double one = leftDoubles[row * size + inner];
                for (int column = 0; column < size; column++) made[row * size + column] += one * rightDoubles[inner * size + column];
            }
        doubles = made;
    }

    @Override protected long checksum() {
        long sum = 0;
        for (int place = 0; place < paramSize * paramSize; place++)
            sum = Fold.add(sum, ints != null ? ints[place] : longs != null ? longs[place] : floats != null ? (long) floats[place] : (long) doubles[place]);
        return sum;
    }
}
