/** Particles that fall in a box and bounce from its walls with three quarters of their speed. */
public final class Particles extends Workload {
    protected int paramParticles = 1000, paramSteps = 100;
    protected String paramType = "double";
    private double[] x, y, u, v;
    private float[] fx, fy, fu, fv;

    @Override protected long payload() {
        if (paramType.equals("double")) doubles();
        else if (paramType.equals("float")) floats();
        else throw noType(paramType);
        return (long) paramParticles * paramSteps;
    }

    private void doubles() {
        int n = paramParticles;
        SplitMix random = new SplitMix(17);
        x = new double[n]; y = new double[n]; u = new double[n]; v = new double[n];
        for (int i = 0; i < n; i++) { x[i] = random.nextDouble(); y[i] = random.nextDouble(); u[i] = random.nextDouble() - 0.5; v[i] = random.nextDouble() - 0.5; }
        for (int step = 0; step < paramSteps; step++)
            for (int i = 0; i < n; i++) {
                v[i] -= 0.0625;
                x[i] += 0.015625 * u[i]; y[i] += 0.015625 * v[i];
                if (x[i] < 0 || x[i] > 1) { x[i] = x[i] < 0 ? 0 : 1; u[i] *= -0.75; }
                if (y[i] < 0 || y[i] > 1) { y[i] = y[i] < 0 ? 0 : 1; v[i] *= -0.75; }
            }
    }

    private void floats() {
        int n = paramParticles;
        SplitMix random = new SplitMix(17);
        fx = new float[n]; fy = new float[n]; fu = new float[n]; fv = new float[n];
        for (int i = 0; i < n; i++) { fx[i] = (float) random.nextDouble(); fy[i] = (float) random.nextDouble(); fu[i] = (float) (random.nextDouble() - 0.5); fv[i] = (float) (random.nextDouble() - 0.5); }
        for (int step = 0; step < paramSteps; step++)
            for (int i = 0; i < n; i++) {
                fv[i] -= 0.0625f;
                fx[i] += 0.015625f * fu[i]; fy[i] += 0.015625f * fv[i];
                if (fx[i] < 0 || fx[i] > 1) { fx[i] = fx[i] < 0 ? 0 : 1; fu[i] *= -0.75f; }
                if (fy[i] < 0 || fy[i] > 1) { fy[i] = fy[i] < 0 ? 0 : 1; fv[i] *= -0.75f; }
            }
    }

    @Override protected long checksum() {
        if (x != null) return Fold.of(Fold.of(x), Fold.of(y), Fold.of(u), Fold.of(v));
        return Fold.of(Fold.of(fx), Fold.of(fy), Fold.of(fu), Fold.of(fv));
    }
}
