/** Factors of some numbers in a row by trial division, in int or long. */
public final class Factorisation extends Workload {
    protected long paramFirst = 1000000000L;
    protected int paramCount = 500;
    protected String paramType = "int";
    private long sum;

    @Override protected void prepare() {
        if (!paramType.equals("int") && !paramType.equals("long")) throw noType(paramType);
        if (paramType.equals("int") && paramFirst + paramCount > Integer.MAX_VALUE) throw new IllegalArgumentException("paramFirst is no int");
    }

    @Override protected long payload() {
        sum = 0;
        if (paramType.equals("int")) for (int number = 0; number < paramCount; number++) factors((int) paramFirst + number);
        else for (int number = 0; number < paramCount; number++) factors(paramFirst + number);
        return paramCount;
    }

    private void factors(int rest) {
        for (int divisor = 2; divisor <= rest / divisor; divisor += divisor == 2 ? 1 : 2)
            while (rest % divisor == 0) { sum = Fold.add(sum, divisor); rest /= divisor; }
        if (rest > 1) sum = Fold.add(sum, rest);
    }

    private void factors(long rest) {
        for (long divisor = 2; divisor <= rest / divisor; divisor += divisor == 2 ? 1 : 2)
            while (rest % divisor == 0) { sum = Fold.add(sum, divisor); rest /= divisor; }
        if (rest > 1) sum = Fold.add(sum, rest);
    }

    @Override protected long checksum() { return sum; }
}
