/** A cloth that hangs by two corners: Verlet's method, and threads that are drawn back to their length. */
public final class Cloth extends Workload {
    protected int paramSize = 16, paramSteps = 10;
    protected String paramType = "double";
    private double[] x, y;
    private float[] fx, fy;

    @Override protected long payload() {
        if (paramType.equals("double")) doubles();
        else if (paramType.equals("float")) floats();
        else throw noType(paramType);
        return (long) paramSize * paramSize * paramSteps;
    }

    private void doubles() {
        int n = paramSize;
        x = new double[n * n]; y = new double[n * n];
        for (int i = 0; i < n * n; i++) { x[i] = i % n; y[i] = -(i / n); }
        double[] lastX = x.clone(), lastY = y.clone();
        for (int step = 0; step < paramSteps; step++) {
            for (int i = 0; i < n * n; i++) {
                if (i == 0 || i == n - 1) continue;
                double nextX = x[i] + 0.96875 * (x[i] - lastX[i]), nextY = y[i] + 0.96875 * (y[i] - lastY[i]) - 0.015625;
                lastX[i] = x[i]; lastY[i] = y[i];
                x[i] = nextX; y[i] = nextY;
            }
            for (int round = 0; round < 4; round++)
                for (int i = 0; i < n * n; i++) {
                    if (i % n < n - 1) draw(i, i + 1);
                    if (i + n < n * n) draw(i, i + n);
                }
        }
    }

    private void draw(int i, int j) {
        double dx = x[j] - x[i], dy = y[j] - y[i], d = Math.sqrt(dx * dx + dy * dy), part = (d - 1) / d * 0.5;
        if (i != 0 && i != paramSize - 1) { x[i] += part * dx; y[i] += part * dy; }
        if (j != paramSize - 1) { x[j] -= part * dx; y[j] -= part * dy; }
    }

    private void floats() {
        int n = paramSize;
        fx = new float[n * n]; fy = new float[n * n];
        for (int i = 0; i < n * n; i++) { fx[i] = i % n; fy[i] = -(i / n); }
        float[] lastX = fx.clone(), lastY = fy.clone();
        for (int step = 0; step < paramSteps; step++) {
            for (int i = 0; i < n * n; i++) {
                if (i == 0 || i == n - 1) continue;
                float nextX = fx[i] + 0.96875f * (fx[i] - lastX[i]), nextY = fy[i] + 0.96875f * (fy[i] - lastY[i]) - 0.015625f;
                lastX[i] = fx[i]; lastY[i] = fy[i];
                fx[i] = nextX; fy[i] = nextY;
            }
            for (int round = 0; round < 4; round++)
                for (int i = 0; i < n * n; i++) {
                    if (i % n < n - 1) drawFloats(i, i + 1);
                    if (i + n < n * n) drawFloats(i, i + n);
                }
        }
    }

    private void drawFloats(int i, int j) {
        float dx = fx[j] - fx[i], dy = fy[j] - fy[i], d = (float) Math.sqrt(dx * dx + dy * dy), part = (d - 1) / d * 0.5f;
        if (i != 0 && i != paramSize - 1) { fx[i] += part * dx; fy[i] += part * dy; }
        if (j != paramSize - 1) { fx[j] -= part * dx; fy[j] -= part * dy; }
    }

    @Override protected long checksum() { return x != null ? Fold.of(Fold.of(x), Fold.of(y)) : Fold.of(Fold.of(fx), Fold.of(fy)); }
}
