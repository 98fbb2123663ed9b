/** x'' = -x from (1, 0) by the classical method of Runge and Kutta. */
public final class RungeKuttaOscillator extends Workload {
    protected int paramSteps = 10000;
    protected String paramType = "double";
    private double[] state;
    private float[] floatState;

    @Override protected long payload() {
        if (paramType.equals("double")) doubles();
        else if (paramType.equals("float")) floats();
        else throw noType(paramType);
        return paramSteps;
    }

    private void doubles() {
        double x = 1, v = 0, h = 0.0009765625;
        for (int step = 0; step < paramSteps; step++) {
            double x1 = v, v1 = -x;
            double x2 = v + h / 2 * v1, v2 = -(x + h / 2 * x1);
            double x3 = v + h / 2 * v2, v3 = -(x + h / 2 * x2);
            double x4 = v + h * v3, v4 = -(x + h * x3);
            x += h / 6 * (x1 + 2 * x2 + 2 * x3 + x4);
            v += h / 6 * (v1 + 2 * v2 + 2 * v3 + v4);
        }
        state = new double[] {x, v};
    }

    private void floats() {
        float x = 1, v = 0, h = 0.0009765625f;
        for (int step = 0; step < paramSteps; step++) {
            float x1 = v, v1 = -x;
            float x2 = v + h / 2 * v1, v2 = -(x + h / 2 * x1);
            float x3 = v + h / 2 * v2, v3 = -(x + h / 2 * x2);
            float x4 = v + h * v3, v4 = -(x + h * x3);
            x += h / 6 * (x1 + 2 * x2 + 2 * x3 + x4);
            v += h / 6 * (v1 + 2 * v2 + 2 * v3 + v4);
        }
        floatState = new float[] {x, v};
    }

    @Override protected long checksum() { return state != null ? Fold.of(state) : Fold.of(floatState); }
}
