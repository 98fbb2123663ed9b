/** Votes of points for the lines through them: 180 angles, distances in whole cells; in numbers of 1/65536. */
public final class Hough extends Workload {
    protected int paramSize = 256, paramPoints = 500;
    private int[] xs, ys, cosines, sines, votes;

    @Override protected void prepare() {
        SplitMix random = new SplitMix(10);
        xs = new int[paramPoints]; ys = new int[paramPoints];
        for (int point = 0; point < paramPoints; point++) { xs[point] = random.nextInt(paramSize); ys[point] = random.nextInt(paramSize); }
        cosines = new int[180]; sines = new int[180];
        for (int angle = 0; angle < 180; angle++) {
            cosines[angle] = (int) Math.floor(65536 * Math.cos(Math.PI * (angle + 0.25) / 180) + 0.5);
            sines[angle] = (int) Math.floor(65536 * Math.sin(Math.PI * (angle + 0.25) / 180) + 0.5);
        }
    }

    @Override protected long payload() {
        int distances = 4 * paramSize;
        int[] made = new int[180 * distances];
        for (int point = 0; point < paramPoints; point++)
            for (int angle = 0; angle < 180; angle++)
                made[angle * distances + 2 * paramSize + (xs[point] * cosines[angle] + ys[point] * sines[angle] >> 16)]++;
        votes = made;
        return 180L * paramPoints;
    }

    @Override protected long checksum() { return Fold.of(votes); }
}
