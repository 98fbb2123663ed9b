/** Sums of all rectangles from the corner, of squared grey values (int or long), and of boxes of 16 × 16 from them. */
public final class IntegralImage extends ImageWorkload {
    protected String paramType = "int";
    private int[] ints;
    private long[] longs;

    @Override protected long payload() {
        if (paramType.equals("int")) ofInts();
        else if (paramType.equals("long")) ofLongs();
        else throw noType(paramType);
        return image.length;
    }

    private void ofInts() {
        int n = paramSize, m = n + 1;
        int[] sums = new int[m * m];
        for (int y = 0; y < n; y++)
            for (int x = 0, row = 0; x < n; x++) {
                row += image[y * n + x] * image[y * n + x];
                sums[(y + 1) * m + x + 1] = sums[y * m + x + 1] + row;
            }
        int[] boxes = new int[(n - 15) * (n - 15)];
        for (int y = 0, at = 0; y + 16 <= n; y++)
            for (int x = 0; x + 16 <= n; x++)
                boxes[at++] = sums[(y + 16) * m + x + 16] - sums[y * m + x + 16] - sums[(y + 16) * m + x] + sums[y * m + x];
        ints = boxes;
    }

    private void ofLongs() {
        int n = paramSize, m = n + 1;
        long[] sums = new long[m * m];
        for (int y = 0; y < n; y++) {
            long row = 0;
            for (int x = 0; x < n; x++) {
                row += image[y * n + x] * image[y * n + x];
                sums[(y + 1) * m + x + 1] = sums[y * m + x + 1] + row;
            }
        }
        long[] boxes = new long[(n - 15) * (n - 15)];
        for (int y = 0, at = 0; y + 16 <= n; y++)
            for (int x = 0; x + 16 <= n; x++)
                boxes[at++] = sums[(y + 16) * m + x + 16] - sums[y * m + x + 16] - sums[(y + 16) * m + x] + sums[y * m + x];
        longs = boxes;
    }

    @Override protected long checksum() { return ints != null ? Fold.of(ints) : Fold.of(longs); }
}
