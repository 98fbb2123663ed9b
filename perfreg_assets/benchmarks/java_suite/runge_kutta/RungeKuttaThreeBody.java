/** The orbit of Arenstorf (restricted problem of three bodies) over one period, by the pair of Bogacki and Shampine with
 *  steps that are halved and doubled: the orbit closes. */
public final class RungeKuttaThreeBody extends Workload {
    private static final double MU = 0.012277471, PERIOD = 17.0652165601579625588917206249;
    protected double paramTolerance = 1e-9;
    private final double[] y = new double[4], k1 = new double[4], k2 = new double[4], k3 = new double[4], k4 = new double[4];
    private final double[] at = new double[4], next = new double[4];
    private long steps;

    @Override protected long payload() {
        y[0] = 0.994; y[1] = 0; y[2] = 0; y[3] = -2.00158510637908252240537862224;
        double t = 0, h = 0.0009765625;
        steps = 0;
        slope(y, k1);
        while (t < PERIOD) {
            if (t + h > PERIOD) h = PERIOD - t;
            for (int one = 0; one < 4; one++) at[one] = y[one] + h * 0.5 * k1[one];
            slope(at, k2);
            for (int one = 0; one < 4; one++) at[one] = y[one] + h * 0.75 * k2[one];
            slope(at, k3);
            for (int one = 0; one < 4; one++) next[one] = y[one] + h * (2.0 / 9 * k1[one] + 1.0 / 3 * k2[one] + 4.0 / 9 * k3[one]);
            slope(next, k4);
            double error = 0;
            for (int one = 0; one < 4; one++)
                error = Math.max(error, Math.abs(h * (-5.0 / 72 * k1[one] + 1.0 / 12 * k2[one] + 1.0 / 9 * k3[one] - 1.0 / 8 * k4[one])));
            steps++;
            if (error > paramTolerance) { h /= 2; continue; }
            t += h;
            for (int one = 0; one < 4; one++) { y[one] = next[one]; k1[one] = k4[one]; }
            if (error < paramTolerance / 16) h *= 2;
        }
        return steps;
    }

    private static void slope(double[] y, double[] made) {
        double a = y[0] + MU, b = y[0] - (1 - MU), yy = y[1] * y[1];
        double d1 = a * a + yy, d2 = b * b + yy;
        d1 *= Math.sqrt(d1); d2 *= Math.sqrt(d2);
        made[0] = y[2];
        made[1] = y[3];
        made[2] = y[0] + 2 * y[3] - (1 - MU) * a / d1 - MU * b / d2;
        made[3] = y[1] - 2 * y[2] - (1 - MU) * y[1] / d1 - MU * y[1] / d2;
    }

    @Override protected long checksum() { return Fold.add(Fold.of(y), steps); }
}
