/** The system of Lorenz (σ = 10, ρ = 28, β = 8/3) from (1, 1, 1): what is not the same to the last bit parts soon. */
public final class RungeKuttaLorenz extends Workload {
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
        double[] y = {1, 1, 1}, k1 = new double[3], k2 = new double[3], k3 = new double[3], k4 = new double[3], at = new double[3];
        double h = 0.00390625;
        for (int step = 0; step < paramSteps; step++) {
            slope(y, k1);
            for (int one = 0; one < 3; one++) at[one] = y[one] + h / 2 * k1[one];
            slope(at, k2);
            for (int one = 0; one < 3; one++) at[one] = y[one] + h / 2 * k2[one];
            slope(at, k3);
            for (int one = 0; one < 3; one++) at[one] = y[one] + h * k3[one];
            slope(at, k4);
            for (int one = 0; one < 3; one++) y[one] += h / 6 * (k1[one] + 2 * k2[one] + 2 * k3[one] + k4[one]);
        }
        state = y;
    }

    private static void slope(double[] y, double[] made) {
        made[0] = 10 * (y[1] - y[0]);
        made[1] = y[0] * (28 - y[2]) - y[1];
        made[2] = y[0] * y[1] - 8.0 / 3 * y[2];
    }

    private void floats() {
        float[] y = {1, 1, 1}, k1 = new float[3], k2 = new float[3], k3 = new float[3], k4 = new float[3], at = new float[3];
        float h = 0.00390625f;
        for (int step = 0; step < paramSteps; step++) {
            slope(y, k1);
            for (int one = 0; one < 3; one++) at[one] = y[one] + h / 2 * k1[one];
            slope(at, k2);
            for (int one = 0; one < 3; one++) at[one] = y[one] + h / 2 * k2[one];
            slope(at, k3);
            for (int one = 0; one < 3; one++) at[one] = y[one] + h * k3[one];
            slope(at, k4);
            for (int one = 0; one < 3; one++) y[one] += h / 6 * (k1[one] + 2 * k2[one] + 2 * k3[one] + k4[one]);
        }
        floatState = y;
    }

    private static void slope(float[] y, float[] made) {
        made[0] = 10 * (y[1] - y[0]);
        made[1] = y[0] * (28 - y[2]) - y[1];
        made[2] = y[0] * y[1] - 8.0f / 3 * y[2];
    }

    @Override protected long checksum() { return state != null ? Fold.of(state) : Fold.of(floatState); }
}
