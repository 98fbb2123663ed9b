/** Sun and the outer planets, as the Computer Language Benchmarks Game has them; the energy after the last step. */
public final class NBody extends Workload {
    private static final double SUN = 4 * Math.PI * Math.PI, YEAR = 365.24;
    private static final double[][] PLANETS = {
        {0, 0, 0, 0, 0, 0, 1},
        {4.84143144246472090e+00, -1.16032004402742839e+00, -1.03622044471123109e-01, 1.66007664274403694e-03, 7.69901118419740425e-03, -6.90460016972063023e-05, 9.54791938424326609e-04},
        {8.34336671824457987e+00, 4.12479856412430479e+00, -4.03523417114321381e-01, -2.76742510726411411e-03, 4.99852801234917238e-03, 2.30417297573763929e-05, 2.85885980666130812e-04},
        {1.28943695621391310e+01, -1.51111514016986312e+01, -2.23307578892655734e-01, 2.96460137564761618e-03, 2.37847173959480950e-03, -2.96589568540237556e-05, 4.36624404335156298e-05},
        {1.53796971148509165e+01, -2.59193146099879641e+01, 1.79258772950371181e-01, 2.68067772490389322e-03, 1.62824170038242295e-03, -9.51592254519715870e-05, 5.15138902046611451e-05},
    };
    protected int paramSteps = 1000;
    private double[][] bodies;

    @Override protected long payload() {
        bodies = new double[5][7];
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 7; j++) bodies[i][j] = PLANETS[i][j] * (j < 3 ? 1 : j < 6 ? YEAR : SUN);
        for (int i = 1; i < 5; i++) for (int j = 3; j < 6; j++) bodies[0][j] -= bodies[i][j] * bodies[i][6] / SUN;
        for (int step = 0; step < paramSteps; step++) {
            for (int i = 0; i < 5; i++)
                for (int j = i + 1; j < 5; j++) {
                    double[] a = bodies[i], b = bodies[j];
                    double dx = a[0] - b[0], dy = a[1] - b[1], dz = a[2] - b[2], d = dx * dx + dy * dy + dz * dz;
                    double pull = 0.01 / (d * Math.sqrt(d));
                    a[3] -= dx * b[6] * pull; a[4] -= dy * b[6] * pull; a[5] -= dz * b[6] * pull;
                    b[3] += dx * a[6] * pull; b[4] += dy * a[6] * pull; b[5] += dz * a[6] * pull;
                }
            for (double[] a : bodies) for (int j = 0; j < 3; j++) a[j] += 0.01 * a[j + 3];
        }
        return paramSteps;
    }

    /** 10^9 times the energy. */
    @Override protected long checksum() {
        double energy = 0;
        for (int i = 0; i < 5; i++) {
            double[] a = bodies[i];
            energy += 0.5 * a[6] * (a[3] * a[3] + a[4] * a[4] + a[5] * a[5]);
            for (int j = i + 1; j < 5; j++) {
                double[] b = bodies[j];
                double dx = a[0] - b[0], dy = a[1] - b[1], dz = a[2] - b[2];
                energy -= a[6] * b[6] / Math.sqrt(dx * dx + dy * dy + dz * dz);
            }
        }
        return Math.round(1e9 * energy);
    }
}
