/** Boxes of height 1 that fall onto each other and slide: impulses at contacts, with friction, ten rounds per step. */
public final class BoxStack extends Workload {
    protected int paramBoxes = 10, paramSteps = 200;
    private double[] x, y, u, v;

    @Override protected long payload() {
        int n = paramBoxes;
        double h = 0.015625;
        SplitMix random = new SplitMix(16);
        x = new double[n]; y = new double[n]; u = new double[n]; v = new double[n];
        for (int i = 0; i < n; i++) { y[i] = 1.25 * i + 0.5; u[i] = random.nextDouble() - 0.5; }
        for (int step = 0; step < paramSteps; step++) {
            for (int i = 0; i < n; i++) v[i] -= h * 9.8125;
            for (int round = 0; round < 10; round++)
                for (int i = 0; i < n; i++) {
                    double gap = i == 0 ? y[0] : y[i] - y[i - 1] - 1;
                    double impulse = -gap / h - (i == 0 ? v[0] : v[i] - v[i - 1]);
                    if (impulse <= 0) continue;
                    double slip = i == 0 ? u[0] : u[i] - u[i - 1], most = 0.5 * impulse;
                    double friction = Math.max(-most, Math.min(most, -slip));
                    if (i == 0) { v[0] += impulse; u[0] += friction; continue; }
                    v[i] += impulse / 2; v[i - 1] -= impulse / 2;
                    u[i] += friction / 2; u[i - 1] -= friction / 2;
                }
            for (int i = 0; i < n; i++) { x[i] += h * u[i]; y[i] += h * v[i]; }
        }
        return (long) paramBoxes * paramSteps;
    }

    @Override protected long checksum() { return Fold.of(Fold.of(x), Fold.of(y), Fold.of(u), Fold.of(v)); }
}
