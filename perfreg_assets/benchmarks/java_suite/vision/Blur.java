/** Blurring by (1, 4, 6, 4, 1) / 16 in both directions; a border of two cells stays 0. */
public final class Blur extends ImageWorkload {
    protected String paramType = "int";
    private int[] ints;
    private float[] source, floats;

    @Override protected void prepare() {
        super.prepare();
        source = new float[image.length];
        for (int place = 0; place < image.length; place++) source[place] = image[place];
    }

    @Override protected long payload() {
        if (paramType.equals("int")) ofInts();
        else if (paramType.equals("float")) ofFloats();
        else throw noType(paramType);
        return image.length;
    }

    private void ofInts() {
        int n = paramSize;
        int[] rows = new int[n * n], made = new int[n * n];
        for (int y = 0; y < n; y++)
            for (int at = y * n + 2; at < y * n + n - 2; at++)
                rows[at] = image[at - 2] + image[at + 2] + 4 * (image[at - 1] + image[at + 1]) + 6 * image[at];
        for (int y = 2; y < n - 2; y++)
            for (int at = y * n + 2; at < y * n + n - 2; at++)
                made[at] = rows[at - 2 * n] + rows[at + 2 * n] + 4 * (rows[at - n] + rows[at + n]) + 6 * rows[at];
        ints = made;
    }

    private void ofFloats() {
        int n = paramSize;
        float[] rows = new float[n * n], made = new float[n * n];
        for (int y = 0; y < n; y++)
            for (int at = y * n + 2; at < y * n + n - 2; at++)
                rows[at] = source[at - 2] + source[at + 2] + 4 * (source[at - 1] + source[at + 1]) + 6 * source[at];
        for (int y = 2; y < n - 2; y++)
            for (int at = y * n + 2; at < y * n + n - 2; at++)
                made[at] = rows[at - 2 * n] + rows[at + 2 * n] + 4 * (rows[at - n] + rows[at + n]) + 6 * rows[at];
        floats = made;
    }

    /** Of 256 times the grey values: whole numbers in both types. */
    @Override protected long checksum() {
        long sum = 0;
        for (int place = 0; place < image.length; place++) sum = Fold.add(sum, ints != null ? ints[place] : (long) floats[place]);
        return sum;
    }
}
