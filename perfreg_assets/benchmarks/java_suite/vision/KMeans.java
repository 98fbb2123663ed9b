/** Colours in k groups: five rounds of k-means over red, green and blue. */
public final class KMeans extends Workload {
    protected int paramPixels = 10000, paramGroups = 8;
    private int[] pixels, counts;
    private double[] centres;

    @Override protected void prepare() {
        SplitMix random = new SplitMix(9);
        pixels = new int[3 * paramPixels];
        for (int place = 0; place < pixels.length; place++) pixels[place] = random.nextInt(256);
    }

    @Override protected long payload() {
        int k = paramGroups;
        double[] at = new double[3 * k];
        for (int one = 0; one < 3 * k; one++) at[one] = pixels[one];
        for (int round = 0; round < 5; round++) {
            long[] sums = new long[3 * k];
            counts = new int[k];
            for (int pixel = 0; pixel < pixels.length; pixel += 3) {
                int nearest = 0;
                double least = Double.MAX_VALUE;
                for (int group = 0; group < k; group++) {
                    double r = pixels[pixel] - at[3 * group], g = pixels[pixel + 1] - at[3 * group + 1], b = pixels[pixel + 2] - at[3 * group + 2];
                    double distance = r * r + g * g + b * b;
                    if (distance < least) { least = distance; nearest = group; }
                }
                counts[nearest]++;
                for (int colour = 0; colour < 3; colour++) sums[3 * nearest + colour] += pixels[pixel + colour];
            }
            for (int one = 0; one < 3 * k; one++) if (counts[one / 3] > 0) at[one] = (double) sums[one] / counts[one / 3];
        }
        centres = at;
        return 5L * paramPixels;
    }

    @Override protected long checksum() { return Fold.of(Fold.of(counts), Fold.of(centres)); }
}
