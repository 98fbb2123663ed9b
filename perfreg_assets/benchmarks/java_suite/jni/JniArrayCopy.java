/** System.arraycopy of arrays that overlap themselves: everything moves on by one place. */
public final class JniArrayCopy extends Workload {
    protected int paramSize = 1024;
    protected String paramType = "byte";
    private byte[] bytes;
    private int[] ints;
    private long[] longs;

    @Override protected void prepare() {
        SplitMix random = new SplitMix(18);
        if (paramType.equals("byte")) bytes = random.bytes(paramSize);
        else if (paramType.equals("int")) { ints = new int[paramSize]; for (int i = 0; i < paramSize; i++) ints[i] = random.nextInt(1000); }
        else if (paramType.equals("long")) { longs = new long[paramSize]; for (int i = 0; i < paramSize; i++) longs[i] = random.nextLong(); }
        else throw noType(paramType);
    }

    @Override protected long payload() {
        int last = paramSize - 1;
        if (bytes != null) for (int i = 0; i < paramSize; i++) { byte one = bytes[last]; System.arraycopy(bytes, 0, bytes, 1, last); bytes[0] = one; }
        else if (ints != null) for (int i = 0; i < paramSize; i++) { int one = ints[last]; System.arraycopy(ints, 0, ints, 1, last); ints[0] = one; }
        else for (int i = 0; i < paramSize; i++) { long one = longs[last]; System.arraycopy(longs, 0, longs, 1, last); longs[0] = one; }
        return paramSize;
    }

    /** After as many turns as there are places everything is where it was. */
    @Override protected long checksum() { return bytes != null ? Fold.of(bytes) : ints != null ? Fold.of(ints) : Fold.of(longs); }
}
