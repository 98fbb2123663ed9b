/** Edges by Sobel's masks: |gx| + |gy|; the border stays 0. */
public final class Sobel extends ImageWorkload {
    private int[] edges;

    @Override protected long payload() {
        int n = paramSize;
        int[] made = new int[n * n];
        for (int y = 1; y < n - 1; y++)
            for (int at = y * n + 1; at < y * n + n - 1; at++) {
                int gx = image[at - n + 1] + 2 * image[at + 1] + image[at + n + 1] - image[at - n - 1] - 2 * image[at - 1] - image[at + n - 1];
                int gy = image[at + n - 1] + 2 * image[at + n] + image[at + n + 1] - image[at - n - 1] - 2 * image[at - n] - image[at - n + 1];
                made[at] = Math.abs(gx) + Math.abs(gy);
            }
        edges = made;
        return image.length;
    }

    @Override protected long checksum() { return Fold.of(edges); }
}
