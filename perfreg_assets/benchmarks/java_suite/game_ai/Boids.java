/** A flock: everybody keeps its distance, goes where its neighbours go and stays near them. */
public final class Boids extends Workload {
    protected int paramBoids = 64, paramSteps = 20;
    protected String paramType = "double";
    private double[] x, y, u, v;
    private float[] fx, fy, fu, fv;

    @Override protected long payload() {
        if (paramType.equals("double")) doubles();
        else if (paramType.equals("float")) floats();
        else throw noType(paramType);
        return (long) paramBoids * paramSteps;
    }

    private void doubles() {
        int n = paramBoids;
        SplitMix random = new SplitMix(6);
        x = new double[n]; y = new double[n]; u = new double[n]; v = new double[n];
        for (int i = 0; i < n; i++) { x[i] = random.nextDouble(); y[i] = random.nextDouble(); u[i] = random.nextDouble() - 0.5; v[i] = random.nextDouble() - 0.5; }
        double[] nu = new double[n], nv = new double[n];
        for (int step = 0; step < paramSteps; step++) {
            for (int i = 0; i < n; i++) {
                double sx = 0, sy = 0, su = 0, sv = 0, ax = 0, ay = 0;
                int near = 0;
                for (int j = 0; j < n; j++) {
                    double dx = x[j] - x[i], dy = y[j] - y[i], d = dx * dx + dy * dy;
                    if (j == i || d > 0.0625) continue;
                    near++;
                    sx += dx; sy += dy; su += u[j]; sv += v[j];
                    if (d < 0.00390625) { ax -= dx; ay -= dy; }
                }
                double a = u[i], b = v[i];
                if (near > 0) {
                    a += 0.125 * (su / near - u[i]) + 0.0625 * (sx / near) + 0.5 * ax;
                    b += 0.125 * (sv / near - v[i]) + 0.0625 * (sy / near) + 0.5 * ay;
                }
                double speed = Math.sqrt(a * a + b * b);
                if (speed > 0.5) { a = a / speed * 0.5; b = b / speed * 0.5; }
                nu[i] = a; nv[i] = b;
            }
            for (int i = 0; i < n; i++) { u[i] = nu[i]; v[i] = nv[i]; x[i] += 0.03125 * u[i]; y[i] += 0.03125 * v[i]; }
        }
    }

    private void floats() {
        int n = paramBoids;
        SplitMix random = new SplitMix(6);
        fx = new float[n]; fy = new float[n]; fu = new float[n]; fv = new float[n];
        for (int i = 0; i < n; i++) { fx[i] = (float) random.nextDouble(); fy[i] = (float) random.nextDouble(); fu[i] = (float) (random.nextDouble() - 0.5); fv[i] = (float) (random.nextDouble() - 0.5); }
        float[] nu = new float[n], nv = new float[n];
        for (int step = 0; step < paramSteps; step++) {
            for (int i = 0; i < n; i++) {
                float sx = 0, sy = 0, su = 0, sv = 0, ax = 0, ay = 0;
                int near = 0;
                for (int j = 0; j < n; j++) {
                    float dx = fx[j] - fx[i], dy = fy[j] - fy[i], d = dx * dx + dy * dy;
                    if (j == i || d > 0.0625f) continue;
                    near++;
                    sx += dx; sy += dy; su += fu[j]; sv += fv[j];
                    if (d < 0.00390625f) { ax -= dx; ay -= dy; }
                }
                float a = fu[i], b = fv[i];
                if (near > 0) {
                    a += 0.125f * (su / near - fu[i]) + 0.0625f * (sx / near) + 0.5f * ax;
                    b += 0.125f * (sv / near - fv[i]) + 0.0625f * (sy / near) + 0.5f * ay;
                }
                float speed = (float) Math.sqrt(a * a + b * b);
                if (speed > 0.5f) { a = a / speed * 0.5f; b = b / speed * 0.5f; }
                nu[i] = a; nv[i] = b;
            }
            for (int i = 0; i < n; i++) { fu[i] = nu[i]; fv[i] = nv[i]; fx[i] += 0.03125f * fu[i]; fy[i] += 0.03125f * fv[i]; }
        }
    }

    @Override protected long checksum() {
        if (x != null) return Fold.of(Fold.of(x), Fold.of(y), Fold.of(u), Fold.of(v));
        return Fold.of(Fold.of(fx), Fold.of(fy), Fold.of(fu), Fold.of(fv));
    }
}
